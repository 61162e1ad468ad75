/*
 * water - the picture of one group: how many buckets stand at which level, as
 * water in a channel whose brim is on the right.
 *
 * Between two looks the surface moves from what was to what is; where motion
 * is not wanted it jumps.
 */
"use strict";

window.Water = (function () {
	const HEIGHT = 112, FOOT = 2, MOVE_MS = 900;
	const NEAR = 0.8; /* from here on it is near the brim */
	const calm = window.matchMedia("(prefers-reduced-motion: reduce)");

	/* One bucket has to be seen beside ten thousand. */
	function height(count, most) {
		if (count <= 0)
			return 0;
		return 0.1 + 0.9 * Math.sqrt(count / Math.max(most, 4));
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
		this.palette();
	}

	Gauge.prototype.palette = function () {
		this.colors = {
			deep: color("--water-deep"),
			light: color("--water-light"),
			alarm: color("--alarm"),
			brim: color("--brim"),
			bed: color("--bed"),
		};
	};

	Gauge.prototype.levels = function (now) {
		const part = calm.matches ? 1
		    : Math.min(1, (now - this.begun) / MOVE_MS);
		const eased = part * part * (3 - 2 * part);
		const from = this.from;

		return this.to.map(function (to, i) {
			return (from[i] || 0) + (to - (from[i] || 0)) * eased;
		});
	};

	Gauge.prototype.set = function (bins, now) {
		const most = Math.max.apply(null, bins);

		this.from = this.to.length ? this.levels(now) : [];
		this.to = bins.map(function (n) {
			return height(n, most);
		});
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
	Gauge.prototype.surface = function (levels, width, now) {
		const pen = this.pen, n = levels.length, step = width / n;
		const base = HEIGHT - FOOT, room = HEIGHT - 14;

		function y(i) {
			const level = levels[Math.max(0, Math.min(n - 1, i))];
			const ripple = calm.matches || level < 0.02 ? 0
			    : Math.sin(now / 620 + i * 0.9) * 1.6 *
				Math.min(1, level * 3);

			return base - level * room + ripple;
		}
		pen.beginPath();
		pen.moveTo(0, base);
		pen.lineTo(0, y(0));
		for (let i = 0; i < n; i++) {
			const x = (i + 0.5) * step, next = x + step / 2;

			pen.quadraticCurveTo(x, y(i), next, i === n - 1 ? y(i)
			    : (y(i) + y(i + 1)) / 2);
		}
		pen.lineTo(width, base);
		pen.closePath();
	};

	Gauge.prototype.draw = function (now) {
		const width = this.fit(), pen = this.pen, c = this.colors;
		const deep = pen.createLinearGradient(0, 0, width, 0);

		pen.clearRect(0, 0, width, HEIGHT);
		pen.fillStyle = c.bed;
		pen.fillRect(0, HEIGHT - FOOT, width, FOOT);
		deep.addColorStop(0, c.light);
		deep.addColorStop(NEAR * 0.75, c.deep);
		deep.addColorStop(NEAR, c.deep);
		deep.addColorStop(Math.min(1, NEAR + 0.12), c.alarm);
		deep.addColorStop(1, c.alarm);
		this.surface(this.levels(now), width, now);
		pen.fillStyle = deep;
		pen.fill();
		pen.strokeStyle = c.brim;
		pen.lineWidth = 2;
		pen.beginPath();
		pen.moveTo(width - 1, 4);
		pen.lineTo(width - 1, HEIGHT);
		pen.stroke();
	};

	/* Is there anything left to move? */
	Gauge.prototype.moves = function (now) {
		return !calm.matches && (now - this.begun < MOVE_MS ||
		    this.to.some(function (level) { return level > 0; }));
	};

	return { Gauge: Gauge, NEAR: NEAR };
})();
