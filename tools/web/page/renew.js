/*
 * renew - make what is shown like what was just built, changing only what
 * differs: a text that somebody has marked stays marked, and a bar moves from
 * where it was.
 */
"use strict";

window.Renew = (function () {
	function attributes(old, fresh) {
		[...old.attributes].forEach(function (a) {
			if (a.name !== "style" && !fresh.hasAttribute(a.name))
				old.removeAttribute(a.name);
		});
		[...fresh.attributes].forEach(function (a) {
			if (a.name !== "style" &&
			    old.getAttribute(a.name) !== a.value)
				old.setAttribute(a.name, a.value);
		});
		/* as an attribute it would be forbidden by our own policy */
		if (old.style && old.style.width !== fresh.style.width)
			old.style.width = fresh.style.width;
	}

	function node(old, fresh) {
		if (old.nodeName !== fresh.nodeName) {
			old.replaceWith(fresh);
		} else if (old.nodeType === Node.TEXT_NODE) {
			if (old.data !== fresh.data)
				old.data = fresh.data;
		} else {
			attributes(old, fresh);
			children(old, [...fresh.childNodes]);
		}
	}

	function children(parent, fresh) {
		const old = [...parent.childNodes];

		fresh.forEach(function (f, i) {
			if (i < old.length)
				node(old[i], f);
			else
				parent.append(f);
		});
		old.slice(fresh.length).forEach(function (o) {
			o.remove();
		});
	}

	return { children: children };
})();
