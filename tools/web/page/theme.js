/*
 * theme - light or dark, before anything is drawn: as the system has it, until
 * somebody says otherwise.
 */
"use strict";

(function () {
	const root = document.documentElement;
	const system = window.matchMedia("(prefers-color-scheme: dark)");

	function chosen() {
		try {
			return localStorage.getItem("theme");
		} catch (e) {
			return null; /* storage may be forbidden */
		}
	}

	function keep(theme) {
		try {
			localStorage.setItem("theme", theme);
		} catch (e) {
			/* then it holds until the page is left */
		}
	}

	function show(theme) {
		root.dataset.theme = theme;
		document.dispatchEvent(new Event("theme"));
	}

	function now() {
		return root.dataset.theme;
	}

	root.classList.add("scripted");
	show(chosen() || (system.matches ? "dark" : "light"));
	system.addEventListener("change", function () {
		if (!chosen())
			show(system.matches ? "dark" : "light");
	});

	document.addEventListener("DOMContentLoaded", function () {
		const button = document.getElementById("theme");
		const words = document.getElementById("theme-words");

		function label() {
			const dark = now() === "dark";

			button.setAttribute("aria-pressed", String(dark));
			words.textContent = dark ? "Light" : "Dark";
		}
		button.addEventListener("click", function () {
			const next = now() === "dark" ? "light" : "dark";

			keep(next);
			show(next);
		});
		document.addEventListener("theme", label);
		label();
	});
})();
