/*
 * ask - a question to the daemon, and its answer in words.  It goes in the
 * body of a POST: what is asked for stands in no address and no log.
 */
"use strict";

(function () {
	const form = document.getElementById("ask");
	const answer = document.getElementById("answer");
	const button = document.getElementById("q-go");
	const verdicts = {
		"found": ["found", "Yes, probably."],
		"absent": ["absent", "Certainly not."],
		"not-covered": ["unsure", "Not found – but Tidemark was not " +
		    "always looking."],
	};

	function element(name, text, className) {
		const e = document.createElement(name);

		if (text !== undefined)
			e.textContent = text;
		if (className)
			e.className = className;
		return e;
	}

	function times(from_ms, until_ms) {
		return window.Words.moment(from_ms) + " – " +
		    window.Words.moment(until_ms);
	}

	function span(r) {
		return times(r.from_ms, r.until_ms);
	}

	function chance(p) {
		return "chance of error " + window.Words.chance(p);
	}

	function window_line(r) {
		let text = span(r) + ": window " + r.number +
		    (r.sealed ? "" : ", still open");

		if (r.blocks)
			text += ", " + r.blocks + " block" +
			    (r.blocks === 1 ? "" : "s") + " of text agree" +
			    (r.blocks === 1 ? "s" : "");
		if (r.profiles)
			text += (r.profile_certain ? ", profile "
			    : ", one of ") + r.profiles;
		return text + ", " + chance(r.chance);
	}

	function list(title, records, line) {
		const ul = element("ul");

		if (records.length === 0)
			return;
		answer.append(element("p", title, "list-title"), ul);
		records.forEach(function (r) {
			ul.append(element("li", line(r)));
		});
	}

	function of_type(records, type) {
		return records.filter(function (r) {
			return r.type === type;
		});
	}

	function fail(text) {
		answer.replaceChildren(element("p", text, "verdict wrong"));
	}

	function show(records) {
		const head = of_type(records, "answer")[0];
		const error = of_type(records, "error")[0];
		const words = head && verdicts[head.verdict];

		if (!words) {
			fail(error ? error.text : "The answer makes no sense.");
			return;
		}
		answer.replaceChildren(
		    element("p", words[1], "verdict " + words[0]),
		    element("p", "Looked into " + head.windows + " window" +
			(head.windows === 1 ? "" : "s") + ", " +
			times(head.since_ms, head.until_ms) +
			(head.stopped ? "; stopped there, it took too long"
			    : "") + "."));
		list("It was seen here:", of_type(records, "window"),
		    window_line);
		list("Of these times nothing is known:",
		    of_type(records, "gap"), function (r) {
			return span(r) + ": " + r.reason;
		});
	}

	/* Sentences of the server's own, or records. */
	function understand(response, text) {
		const lines = text.split("\n").filter(Boolean);

		if (!(response.headers.get("Content-Type") || "")
		    .includes("ndjson")) {
			fail(lines[0] || "No answer.");
			return;
		}
		show(lines.map(function (line) {
			return JSON.parse(line);
		}));
	}

	form.addEventListener("submit", function (event) {
		event.preventDefault();
		button.disabled = true;
		answer.setAttribute("aria-busy", "true");
		answer.replaceChildren(element("p", "Asking…", "verdict"));
		fetch("/ask", {
			method: "POST",
			headers: { "Accept": "application/x-ndjson" },
			body: new URLSearchParams(new FormData(form)),
		}).then(function (response) {
			return response.text().then(function (text) {
				understand(response, text);
			});
		}).catch(function () {
			fail("tidemark-web does not answer.");
		}).finally(function () {
			button.disabled = false;
			answer.removeAttribute("aria-busy");
		});
	});
})();
