/*
 * page - look each second, and show what is seen.  Texts that came from mail
 * become text nodes and nothing else.
 */
"use strict";

/* ---- words ---------------------------------------------------------------- */

window.Words = (function () {
	function span(ms) {
		const s = Math.ceil(ms / 1000), min = Math.floor(s / 60);
		const h = Math.floor(min / 60);

		if (s < 120)
			return s + " s";
		if (min < 120)
			return min + " min";
		if (h < 48)
			return h + " h " + min % 60 + " min";
		return Math.floor(h / 24) + " d " + h % 24 + " h";
	}

	function number(n) {
		return n.toLocaleString();
	}

	function rate(per_s) {
		if (per_s === null || per_s === undefined)
			return "–";
		if (per_s === 0)
			return "0";
		if (per_s >= 1)
			return per_s.toFixed(per_s < 10 ? 1 : 0) + "/s";
		if (per_s * 60 >= 1)
			return (per_s * 60).toFixed(0) + "/min";
		return (per_s * 3600).toFixed(0) + "/h";
	}

	function chance(p) {
		if (p === 0 || p === null)
			return "none";
		if (p >= 0.0005)
			return (p * 100).toPrecision(2) + " %";
		if (p >= 1e-6)
			return "1 in " + number(Math.round(1e-3 / p)) +
			    " thousand";
		if (p >= 1e-9)
			return "1 in " + number(Math.round(1e-6 / p)) +
			    " million";
		return "below 1 in a billion";
	}

	function wait(us) {
		if (us < 1000)
			return Math.round(us) + " µs";
		if (us < 1e6)
			return (us / 1000).toFixed(us < 1e4 ? 1 : 0) + " ms";
		return (us / 1e6).toFixed(1) + " s";
	}

	function moment(ms) {
		return new Date(ms).toLocaleString(undefined, {
			dateStyle: "medium", timeStyle: "medium",
			hourCycle: "h23" });
	}

	function bytes(n) {
		const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
		let i = 0;

		for (; n >= 1024 && i + 1 < units.length; i++)
			n /= 1024;
		return (i === 0 ? n : n.toFixed(1)) + " " + units[i];
	}

	return { span: span, number: number, rate: rate, chance: chance,
	    wait: wait, moment: moment, bytes: bytes };
})();

(function () {
	const Words = window.Words;
	const EVERY_MS = 1000, AWAY_MS = 2000, FRAME_MS = 40;
	const gauges = new Map(); /* by group */
	let timer = null, frame = null, drawn = -FRAME_MS;

	function byId(id) {
		return document.getElementById(id);
	}

	function element(name, text, className) {
		const e = document.createElement(name);

		if (text !== undefined && text !== null)
			e.textContent = text;
		if (className)
			e.className = className;
		return e;
	}

	function put(id, text) {
		const e = byId(id);

		if (e.textContent !== text)
			e.textContent = text;
	}

	function show_if(id, wanted) {
		byId(id).hidden = !wanted;
	}

	/* Where it has to break: before its domain, before its network. */
	function key(text) {
		const e = element("span", null, "key");

		text.split(/(?=[@|])/).forEach(function (part, i) {
			if (i > 0)
				e.append(element("wbr"));
			e.append(part);
		});
		return e;
	}

	function of(level, depth) {
		return Words.number(level) + " of " + Words.number(depth);
	}

	/* ---- the head ------------------------------------------------------ */

	const steps = {
		"the daemon is not running":
		    "Start it: systemctl start tidemark",
		"the live map cannot be read":
		    "tidemark-web has to be in the group tidemark, and of " +
		    "the daemon's version",
		"the daemon is not at work":
		    "Start it: systemctl start tidemark",
		"the collector is silent":
		    "Mail is remembered, but nothing is sealed or saved; " +
		    "see tidemark status",
		"the acceptor does not listen":
		    "Mail passes unseen or waits; see tidemark status",
	};

	function put_state(words, className, alarm) {
		byId("state").className = "state needs-script " + className;
		put("state-words", words);
		put("alarm", alarm);
		show_if("alarm", alarm !== "");
		document.title = (className === "good" ? "" : "! ") +
		    "Tidemark";
	}

	function sentence(text) {
		return text.charAt(0).toUpperCase() + text.slice(1) + ".";
	}

	function put_head(s) {
		if (s.at_work)
			put_state("at work", "good", "");
		else
			put_state("not at work", "bad", sentence(s.trouble +
			    (s.why ? ": " + s.why : "")) +
			    (steps[s.trouble] ? " " + steps[s.trouble] + "."
				: ""));
		put("clock", new Date(s.time_ms).toLocaleTimeString([],
		    { hourCycle: "h23" }));
		byId("clock").dateTime = s.time;
		document.body.classList.toggle("stale", !s.at_work);
		show_if("masked", s.masked);
	}

	function put_figures(s) {
		const many = s.workers_max ? " of " + Words.number(s.workers_max)
		    : "";

		put("f-mail", s.mail_per_s === null ? "–"
		    : s.mail_per_s.toFixed(s.mail_per_s > 0 &&
			s.mail_per_s < 10 ? 1 : 0));
		put("f-bans", Words.number(s.bans));
		byId("f-bans").parentElement.classList.toggle("alert",
		    s.bans > 0);
		put("f-buckets", Words.number(s.buckets));
		byId("f-workers").replaceChildren(
		    document.createTextNode(Words.number(s.workers)),
		    element("small", many));
	}

	/* ---- the water ----------------------------------------------------- */

	const groups = {
		OKSENDER: "messages, by sender",
		OKIP: "messages, by client",
		UNSENDER: "unknown recipients, by sender",
		UNIP: "unknown recipients, by client",
		CBSENDER: "blocked content, by sender",
		CBIP: "blocked content, by client",
		RBSENDER: "protected mailboxes, by sender",
		SBSENDER: "came while banned, by sender",
	};

	function new_gauge(group) {
		const card = element("figure", null, "gauge");
		const head = element("figcaption");
		const canvas = element("canvas");
		const scale = element("p", null, "scale");
		const title = element("span", null, "title");
		const parts = {
			count: element("span", "", "count"),
			modes: element("span", "", "modes"),
		};

		title.append(element("strong", group),
		    element("span", groups[group] || "", "what"));
		head.append(title, parts.count, parts.modes);
		canvas.setAttribute("role", "img");
		scale.setAttribute("aria-hidden", "true");
		scale.append(element("span", "empty"), element("span", "half"),
		    element("span", "brim"));
		card.append(head, canvas, scale);
		byId("gauges").append(card);
		return { card: card, canvas: canvas, parts: parts,
		    water: new window.Water.Gauge(canvas) };
	}

	/* One word where all profiles agree, else each its own. */
	function mode_chips(modes) {
		const agree = modes.every(function (m) {
			return m.mode === modes[0].mode;
		});

		return (agree ? modes.slice(0, 1) : modes.filter(function (m) {
			return m.mode !== "off";
		})).map(function (m) {
			return element("span", agree ? m.mode
			    : m.profile + ": " + m.mode, "mode " + m.mode);
		});
	}

	function how_many(n) {
		return Words.number(n) + " bucket" + (n === 1 ? "" : "s");
	}

	function put_gauge(g, now) {
		const near = g.bins.slice(Math.floor(g.bins.length *
		    window.Water.NEAR)).reduce(function (a, b) {
			return a + b;
		}, 0);
		const full = g.fullest ? "fullest " + of(g.fullest.level,
		    g.fullest.depth) : "";
		const parts = [document.createTextNode(how_many(g.buckets))];
		let shown = gauges.get(g.group);

		if (!shown) {
			shown = new_gauge(g.group);
			gauges.set(g.group, shown);
		}
		if (near > 0)
			parts.push(element("b", ", " + Words.number(near) +
			    " near the brim"));
		shown.card.classList.toggle("quiet", g.buckets === 0);
		window.Renew.children(shown.parts.count, parts);
		window.Renew.children(shown.parts.modes, mode_chips(g.modes));
		shown.canvas.setAttribute("aria-label", g.group + ": " +
		    how_many(g.buckets) + ", " + near +
		    " of them near the brim" + (full ? "; the " + full : ""));
		shown.water.set(g.bins, full, now);
	}

	function put_water(s) {
		const now = performance.now(), there = new Set();

		s.groups.forEach(function (g) {
			there.add(g.group);
			put_gauge(g, now);
		});
		gauges.forEach(function (shown, group) {
			if (!there.has(group)) {
				shown.card.remove();
				gauges.delete(group);
			}
		});
		show_if("no-water", s.groups.length === 0);
		draw_now();
	}

	/* As long as something moves, and somebody looks; not more often than
	 * waves need. */
	function draw() {
		const now = performance.now();
		const lively = !document.body.classList.contains("stale");
		let moves = false;

		cancelAnimationFrame(frame);
		if (now - drawn >= FRAME_MS) {
			drawn = now;
			gauges.forEach(function (shown) {
				shown.water.draw(now);
			});
		}
		gauges.forEach(function (shown) {
			moves = moves || shown.water.moves(now, lively);
		});
		frame = moves && !document.hidden
		    ? requestAnimationFrame(draw) : null;
	}

	function draw_now() {
		drawn = -FRAME_MS;
		draw();
	}

	function fate(n) {
		if (n.state === "over")
			return n.heads_for === "ban" ? "ban is due" : "over";
		if (n.time_ms === null)
			return "";
		if (n.heads_for === "ban")
			return "ban in " + Words.span(n.time_ms);
		if (n.heads_for === "over")
			return "over in " + Words.span(n.time_ms);
		return (n.state === "full" ? "full; " : "") + "empty in " +
		    Words.span(n.time_ms);
	}

	function nearest_line(n) {
		const li = element("li"), bar = element("span", null, "bar");
		const fill = element("span");
		const full = n.depth > 0 ? n.level / n.depth : 0;
		const urgent = n.state === "over" || n.state === "full" ||
		    (n.state === "rising" && full >= window.Water.NEAR);

		li.className = n.state + (urgent ? " urgent" : "");
		fill.style.width = Math.min(100, full * 100) + "%";
		bar.append(fill);
		bar.setAttribute("aria-hidden", "true");
		li.append(key(n.key),
		    element("span", n.group + " · " + n.profile, "where"), bar,
		    element("span", of(n.level, n.depth), "level"),
		    element("span", Words.rate(n.rate_per_s), "rate"),
		    element("span", fate(n), "fate"));
		return li;
	}

	function put_nearest(s) {
		window.Renew.children(byId("nearest"),
		    s.nearest.map(nearest_line));
		show_if("no-nearest", s.nearest.length === 0);
		show_if("nearest-head", s.nearest.length > 0);
	}

	/* ---- tables -------------------------------------------------------- */

	/* Cells are texts, numbers ({n: text}) or elements. */
	function row(cells) {
		const tr = element("tr");

		cells.forEach(function (c, i) {
			const cell = element(i === 0 ? "th" : "td");

			if (i === 0)
				cell.scope = "row";
			if (c instanceof Node)
				cell.append(c);
			else if (c !== null && typeof c === "object") {
				cell.className = "n";
				cell.textContent = c.n;
			} else
				cell.textContent = c;
			tr.append(cell);
		});
		return tr;
	}

	function fill(id, rows) {
		window.Renew.children(byId(id).tBodies[0], rows);
	}

	function put_bans(s) {
		fill("bans", s.banned.map(function (b) {
			const why = element("span", b.reason);

			why.append(element("small", b.cause +
			    (b.profile ? " · " + b.profile : "")));
			return row([key(b.key), why,
			    { n: Words.span(b.remaining_ms) }, { n: b.times }]);
		}));
		show_if("bans-box", s.banned.length > 0);
		show_if("no-bans", s.banned.length === 0);
	}

	/* ---- sparks -------------------------------------------------------- */

	const SVG = "http://www.w3.org/2000/svg";

	/* A gap where nothing is known. */
	function spark(values, words) {
		const most = Math.max.apply(null, values.map(function (v) {
			return v || 0;
		}).concat(1));
		const svg = document.createElementNS(SVG, "svg");
		const path = document.createElementNS(SVG, "path");
		const title = document.createElementNS(SVG, "title");
		let d = "";

		values.forEach(function (v, i) {
			if (v !== null && v > 0)
				d += "M" + (i + 0.5) + " 20V" +
				    (19 - v / most * 18).toFixed(2);
		});
		svg.setAttribute("viewBox", "0 0 60 20");
		svg.setAttribute("preserveAspectRatio", "none");
		svg.setAttribute("class", "spark");
		svg.setAttribute("role", "img");
		svg.setAttribute("aria-label", words + ", at most " + most);
		title.textContent = "at most " + most;
		svg.append(title);
		path.setAttribute("d", d || "M0 20");
		svg.append(path);
		return svg;
	}

	const bad = new Set(["refused", "rcpt unknown", "rcpt banned",
	    "bans made", "aborted"]);

	const actions = { "rcpt unknown": "unknown recipients",
	    "rcpt banned": "recipients of the banned" };

	function put_flow(s) {
		fill("flow", s.flow.filter(function (f, i) {
			return f.total > 0 || i < 2;
		}).map(function (f) {
			const tr = row([actions[f.action] || f.action,
			    { n: Words.rate(f.now_per_s) },
			    spark(f.seconds, f.action + " in the last 60 " +
				"seconds"),
			    spark(f.minutes, f.action + " in the last hour"),
			    { n: Words.number(f.total) }]);

			if (bad.has(f.action))
				tr.className = "bad";
			return tr;
		}));
	}

	/* ---- memory -------------------------------------------------------- */

	function meter(share) {
		const bar = element("span", null, "bar");
		const fill = element("span");

		fill.style.width = Math.min(100, share * 100) + "%";
		bar.append(fill, element("span",
		    (share * 100).toFixed(share < 0.1 ? 1 : 0) + " %",
		    "percent"));
		return bar;
	}

	function ago(ms, now) {
		return ms > 0 && now > ms ? Words.span(now - ms) : "–";
	}

	function filter_row(name, small, f, since, now) {
		const title = element("span", name);
		const share = f.capacity > 0 ? f.holds / f.capacity : f.fill;

		if (small)
			title.append(element("small", small));
		return row([title, meter(share),
		    { n: f.holds === undefined ? "–" : Words.number(f.holds) },
		    { n: f.capacity === undefined ? "–"
			: Words.number(f.capacity) },
		    f.fill === 0 ? "none" : Words.chance(f.error),
		    ago(since, now)]);
	}

	function put_memory(s) {
		const rows = [], a = s.archive;

		s.windows.filter(function (w) {
			return w.state !== "idle";
		}).sort(function (a, b) {
			return b.number - a.number;
		}).forEach(function (w) {
			w.filters.forEach(function (f) {
				rows.push(filter_row(f.name, "window " +
				    w.number + ", " + w.state, f, w.opened_ms,
				    s.time_ms));
			});
		});
		s.reputation.forEach(function (f) {
			rows.push(filter_row(f.name, f.generation > 0
			    ? "generation " + f.generation : "", f, f.since_ms,
			    s.time_ms));
		});
		fill("memory", rows);
		put("archive", "Archive: " + Words.number(a.windows) +
		    " window" + (a.windows === 1 ? "" : "s") + ", " +
		    Words.bytes(a.bytes) + (a.windows > 0 ? ", back to " +
		    Words.moment(a.from_ms) : "") +
		    (a.checkpoint_ms > 0 ? "; saved " + ago(a.checkpoint_ms,
			s.time_ms) + " ago" : "") + (a.failing > 0
		    ? "; WRITING FAILS" : "") + ".");
	}

	function put_waits(s) {
		fill("waits", s.latency.map(function (l) {
			return row([l.profile, l.stage,
			    { n: Words.number(l.calls) },
			    { n: Words.wait(l.p50_us) },
			    { n: Words.wait(l.p90_us) },
			    { n: Words.wait(l.p99_us) },
			    { n: Words.wait(l.p999_us) }]);
		}));
		show_if("no-waits", s.latency.length === 0);
	}

	/* ---- looking ------------------------------------------------------- */

	function show(s) {
		put_head(s);
		document.body.classList.toggle("empty", !s.attached);
		if (!s.attached)
			return;
		put_figures(s);
		put_water(s);
		put_nearest(s);
		put_bans(s);
		put_flow(s);
		put_memory(s);
		put_waits(s);
	}

	function later(ms) {
		clearTimeout(timer);
		timer = document.hidden ? null : setTimeout(look, ms);
	}

	function look() {
		const abort = new AbortController();
		const limit = setTimeout(function () {
			abort.abort();
		}, 8000);

		fetch("/state.json", { signal: abort.signal })
		    .then(function (response) {
			if (!response.ok)
				throw new Error(String(response.status));
			return response.json();
		}).then(function (s) {
			show(s);
			later(s.at_work ? EVERY_MS : AWAY_MS);
		}).catch(function () {
			put_state("no answer", "bad", "tidemark-web does not " +
			    "answer. What you see is how it was.");
			document.body.classList.add("stale");
			later(AWAY_MS);
		}).finally(function () {
			clearTimeout(limit);
		});
	}

	document.addEventListener("visibilitychange", function () {
		if (!document.hidden) {
			later(0);
			draw_now();
		}
	});
	document.addEventListener("theme", function () {
		gauges.forEach(function (shown) {
			shown.water.palette();
		});
		draw_now();
	});
	window.addEventListener("resize", draw_now);
	look();
})();
