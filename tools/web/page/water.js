/*
 * water - the picture of one group: how many buckets stand at which level, as
 * water in a channel whose brim is on the right.
 *
 * Between two looks the surface moves from what was to what is; where motion
 * is not wanted it jumps.
 */
"use strict";

window.Water = (function () {
	const HEIGHT = 144, TOP = 34, FOOT = 2, LOW = 5, MOVE_MS = 900;
	const FONT = "13px system-ui, sans-serif";
	const NEAR = 0.8; /* from here on it is near the brim */
	const calm = window.matchMedia("(prefers-reduced-motion: reduce)");

	/* One bucket has to be seen beside ten thousand. */
	function height(count, most) {
		if (count <= 0)
			return 0;
		return 0.12 + 0.88 * Math.sqrt(count / Math.max(most, 4));
	}

	/* A swell around each bin; its crest is as high as the bin itself. */
	const swell = [1, 0.64, 0.22, 0.05];

	function swelling(heights) {
		return heights.map(function (own, i) {
			let most = own;

			for (let k = 1; k < swell.length; k++)
				most = Math.max(most,
				    (heights[i - k] || 0) * swell[k],
				    (heights[i + k] || 0) * swell[k]);
			return most;
		});
	}

	function color(name) {
		return getComputedStyle(document.documentElement)
		    .getPropertyValue(name).trim();
	}

	function Gauge(canvas) {
		this.canvas = canvas;
		this.pen = canvas.getContext("2d");
		this.from = [];
		this.to = [];
		this.begun = 0;
		this.mark = this.left = -1; /* now, and at the last look */
		this.full = "";		    /* the mark's words */
		this.crest = this.most = 0; /* the highest bin; how many there */
		this.palette();
	}

	Gauge.prototype.palette = function () {
		this.colors = {
			deep: color("--water-deep"),
			light: color("--water-light"),
			alarm: color("--alarm"),
			brim: color("--brim"),
			bed: color("--bed"),
			soft: color("--soft"),
			ink: color("--ink"),
		};
	};

	/* How much of the way to what is now has been gone. */
	Gauge.prototype.gone = function (now) {
		const part = calm.matches ? 1
		    : Math.min(1, (now - this.begun) / MOVE_MS);

		return part * part * (3 - 2 * part);
	};

	Gauge.prototype.levels = function (now) {
		const eased = this.gone(now), from = this.from;

		return this.to.map(function (to, i) {
			return (from[i] || 0) + (to - (from[i] || 0)) * eased;
		});
	};

	Gauge.prototype.set = function (bins, full, now) {
		const most = Math.max.apply(null, bins);

		this.full = full;
		this.most = most;
		this.crest = bins.indexOf(most);
		this.from = this.to.length ? this.levels(now) : [];
		this.to = swelling(bins.map(function (n) {
			return height(n, most);
		}));
		this.left = this.mark;
		this.mark = bins.reduce(function (last, n, i) {
			return n > 0 ? (i + 0.5) / bins.length : last;
		}, -1);
		this.begun = now;
	};

	/* Sharp on every screen, as wide as its place. */
	Gauge.prototype.fit = function () {
		const scale = window.devicePixelRatio || 1;
		const width = this.canvas.clientWidth;

		if (this.canvas.width !== Math.round(width * scale) ||
		    this.canvas.height !== Math.round(HEIGHT * scale)) {
			this.canvas.width = Math.round(width * scale);
			this.canvas.height = Math.round(HEIGHT * scale);
		}
		this.pen.setTransform(scale, 0, 0, scale, 0, 0);
		return width;
	};

	/* The surface, as a curve through the middle of every bin. */
	Gauge.prototype.surface = function (levels, width, time, lift) {
		const pen = this.pen, n = levels.length, step = width / n;
		const base = HEIGHT - FOOT, room = HEIGHT - TOP;

		function y(i) {
			const level = levels[Math.max(0, Math.min(n - 1, i))];
			const ripple = calm.matches ? 0
			    : Math.sin(time / 700 + i * 0.55) +
				Math.sin(time / 1130 - i * 0.31);

			return base - lift - level * room +
			    ripple * (lift > 0 ? 0.9 : level * 2);
		}
		pen.beginPath();
		pen.moveTo(0, base);
		pen.lineTo(0, y(0));
		for (let i = 0; i < n; i++)
			pen.quadraticCurveTo((i + 0.5) * step, y(i),
			    (i + 1) * step, i === n - 1 ? y(i)
			    : (y(i) + y(i + 1)) / 2);
		pen.lineTo(width, base);
		pen.closePath();
	};

	/* From the pale shallows to the brim's own colour. */
	Gauge.prototype.sea = function (width) {
		const sea = this.pen.createLinearGradient(0, 0, width, 0);
		const c = this.colors;

		sea.addColorStop(0, c.light);
		sea.addColorStop(0.45, c.deep);
		sea.addColorStop(NEAR, c.deep);
		sea.addColorStop(NEAR + 0.12, c.alarm);
		sea.addColorStop(1, c.alarm);
		return sea;
	};

	/* The tidemark: how far the fullest bucket has come. */
	Gauge.prototype.put_mark = function (width, now) {
		const from = this.left < 0 ? this.mark : this.left;
		const at = from + (this.mark - from) * this.gone(now);
		const pen = this.pen, x = Math.round(at * width) + 0.5;
		const right = at < 0.6;

		if (this.mark < 0)
			return;
		pen.strokeStyle = pen.fillStyle =
		    at >= NEAR ? this.colors.alarm : this.colors.soft;
		pen.lineWidth = 1;
		pen.setLineDash([2, 3]);
		pen.beginPath();
		pen.moveTo(x, 2);
		pen.lineTo(x, HEIGHT - FOOT);
		pen.stroke();
		pen.setLineDash([]);
		pen.textAlign = right ? "left" : "right";
		pen.fillText(this.full, x + (right ? 6 : -6), 12);
	};

	/* How many stand where most do: the picture's scale. */
	Gauge.prototype.put_most = function (levels, width) {
		const pen = this.pen, text = window.Words.number(this.most);
		const half = pen.measureText(text).width / 2;
		const x = (this.crest + 0.5) / levels.length * width;
		const y = HEIGHT - FOOT - levels[this.crest] * (HEIGHT - TOP);

		if (this.most < 2)
			return;
		pen.fillStyle = this.colors.ink;
		pen.textAlign = "center";
		pen.fillText(text, Math.max(half,
		    Math.min(width - half - 8, x)), y - 8);
	};

	Gauge.prototype.draw = function (now) {
		const width = this.fit(), pen = this.pen, c = this.colors;
		const levels = this.levels(now);

		pen.clearRect(0, 0, width, HEIGHT);
		pen.fillStyle = c.light;
		pen.globalAlpha = 0.45; /* low water stands everywhere */
		this.surface(levels, width, now * 0.7 + 900, LOW);
		pen.fill();
		pen.globalAlpha = 1;
		pen.fillStyle = this.sea(width);
		this.surface(levels, width, now, 0);
		pen.fill();
		pen.fillStyle = c.bed;
		pen.fillRect(0, HEIGHT - FOOT, width, FOOT);
		pen.font = FONT;
		this.put_mark(width, now);
		this.put_most(levels, width);
		pen.fillStyle = c.brim;
		pen.fillRect(width - 3, 0, 3, HEIGHT);
	};

	/* Is there anything left to move? */
	Gauge.prototype.moves = function (now, lively) {
		return !calm.matches && (now - this.begun < MOVE_MS ||
		    (lively && this.mark >= 0));
	};

	return { Gauge: Gauge, NEAR: NEAR };
})();
