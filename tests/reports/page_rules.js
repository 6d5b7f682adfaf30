// SPDX-License-Identifier: BSD-3-Clause
// What a page must keep, asked of the DOM of one that is open. Each rule returns what breaks it, a text a breach.
(() => {
	const all = (selector, root = document) => [...root.querySelectorAll(selector)];
	const words = text => (text || "").replace(/\s+/g, " ").trim();

	const named = element => {
		const of = element.closest("section[id], header, footer");
		const css = typeof element.className === "string" ? element.className : element.className.baseVal;
		const id = element.id ? "#" + element.id : "", classes = css ? "." + words(css).replace(/ /g, ".") : "";
		const text = words(element.textContent).slice(0, 40);
		const where = of && of !== element ? " in " + (of.id ? "#" + of.id : of.tagName.toLowerCase()) : "";
		return element.tagName.toLowerCase() + id + classes + where + (text ? ' "' + text + '"' : "");
	};

	// ---- what holds at every width

	const headings = () => {
		const found = [], tops = all("h1").length;
		let before = 0;
		if (tops !== 1) found.push(tops + " h1, not one");
		for (const heading of all("h1, h2, h3, h4, h5, h6")) {
			const level = Number(heading.tagName[1]);
			if (level > before + 1) found.push(named(heading) + " follows h" + before);
			before = level;
		}
		return found;
	};

	const tables = () => [
		...all("th:not([scope])").map(head => named(head) + " has no scope"),
		...all("table").filter(table => !table.caption || !words(table.caption.textContent))
			.map(table => named(table) + " has no caption"),
	];

	// A label says what is seen: a number, or as many letters as a sentence begins with.
	const drawings = () => all("svg").flatMap(svg => {
		const label = words(svg.getAttribute("aria-label"));
		return [
			...(svg.getAttribute("role") === "img" ? [] : [named(svg) + " has no role=img"]),
			...(/\d/.test(label) || label.length >= 20 ? [] : [named(svg) + ' is labelled "' + label + '"']),
		];
	});

	const links = () => all("a[href]").filter(a => !words(a.textContent) && !words(a.getAttribute("aria-label")))
		.map(a => "a link to " + a.getAttribute("href") + " has no text");

	const language = () => words(document.documentElement.lang) ? [] : ["html has no lang"];

	const landmarks = () => [
		...(all("main").length === 1 ? [] : [all("main").length + " main, not one"]),
		...all("#headline").filter(one => !one.closest("main")).map(one => named(one) + " is not inside main"),
	];

	// ---- what depends on the width

	const right = element => element.getBoundingClientRect().right;
	const scrolls = element => !["visible", "clip"].includes(getComputedStyle(element).overflowX);
	const within_scrolling = element => {
		for (let up = element.parentElement; up && up !== document.body; up = up.parentElement) if (scrolls(up)) return true;
		return false;
	};

	const sideways = () => {
		const width = document.documentElement.scrollWidth;
		if (width <= innerWidth) return [];
		const wide = all("body *").filter(one => right(one) > innerWidth + 0.5 && !within_scrolling(one)).map(named);
		return ["the page is " + width + " px wide in a window of " + innerWidth + ": " + wide.slice(0, 3).join("; ")];
	};

	const aside = selector => all(selector).flatMap(part => [...part.querySelectorAll("th, td")])
		.filter(cell => right(cell) > innerWidth + 0.5).map(cell => named(cell) + " is out of sight");

	const text_of = id => words((id && document.getElementById(id) || {}).textContent);
	const label = element => words(element.getAttribute("aria-label"))
		|| words(element.getAttribute("aria-labelledby")).split(" ").map(text_of).join("");

	const scrolling = () => all("body *").filter(box => ["auto", "scroll"].includes(getComputedStyle(box).overflowX)
		&& box.scrollWidth > box.clientWidth).flatMap(box => [
		...(box.getAttribute("tabindex") === "0" ? [] : [named(box) + " scrolls, and has no tabindex=0"]),
		...(label(box) ? [] : [named(box) + " scrolls, and has no name"]),
	]);

	// On paper nothing scrolls: what overflows is cut off.
	const paper = () => all("body *").filter(one => one instanceof HTMLElement && one.clientWidth > 1).flatMap(one => [
		...(scrolls(one) && one.scrollWidth > one.clientWidth + 1
			? [named(one) + " is cut off: " + one.scrollWidth + " px in " + one.clientWidth] : []),
		...(right(one) > innerWidth + 1 && !within_scrolling(one) ? [named(one) + " is wider than the paper"] : []),
	]);

	const folds = () => {
		const count = {open: [], folded: []};
		for (const one of all("details")) {
			const inside = [...one.children].filter(child => child.tagName !== "SUMMARY");
			const seen = inside.some(child => child.checkVisibility() && child.getBoundingClientRect().height > 0);
			count[seen ? "open" : "folded"].push(one);
		}
		if (!count.open.length || !count.folded.length) return [];
		return [count.open.length + " details are open, such as " + named(count.open[0]) + ", and " + count.folded.length
			+ " folded, such as " + named(count.folded[0])];
	};

	// ---- contrast

	const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
	const known = new Map();
	const colour = text => {
		if (!known.has(text)) {
			canvas.clearRect(0, 0, 1, 1);
			canvas.fillStyle = text;
			canvas.fillRect(0, 0, 1, 1);
			const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
			known.set(text, [r, g, b, a / 255]);
		}
		return known.get(text);
	};
	const over = (above, below, opacity) => {
		const a = above[3] * opacity;
		return [0, 1, 2].map(i => a * above[i] + (1 - a) * below[i]).concat(1);
	};
	const luminance = rgb => [0.2126, 0.7152, 0.0722].reduce((sum, weight, i) => {
		const c = rgb[i] / 255;
		return sum + weight * (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
	}, 0);
	const ratio = (a, b) => {
		const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
		return (high + 0.05) / (low + 0.05);
	};
	const hex = rgb => "#" + rgb.slice(0, 3).map(c => Math.round(c).toString(16).padStart(2, "0")).join("");

	// The colour behind an element's text, and the product of the opacities above it. `seen` holds what was asked before.
	const behind = (element, seen = new Map()) => {
		if (!element) return [[255, 255, 255, 1], 1];
		if (!seen.has(element)) {
			const [below, opacity] = behind(element.parentElement, seen), style = getComputedStyle(element);
			const visible = opacity * Number(style.opacity), drawn = element instanceof SVGElement && element.tagName !== "svg";
			seen.set(element, [drawn ? below : over(colour(style.backgroundColor), below, visible), visible]);
		}
		return seen.get(element);
	};

	// In a drawing: rectangles that are drawn before the text and below its middle, such as the cell of a map.
	const behind_drawn = (text, seen) => {
		const [x, y] = (box => [(box.left + box.right) / 2, (box.top + box.bottom) / 2])(text.getBoundingClientRect());
		let [below, opacity] = behind(text, seen);
		for (const one of all("rect", text.ownerSVGElement)) {
			const box = one.getBoundingClientRect(), style = getComputedStyle(one);
			const before = one.compareDocumentPosition(text) & Node.DOCUMENT_POSITION_FOLLOWING;
			const under = x >= box.left && x <= box.right && y >= box.top && y <= box.bottom;
			if (!before || !under || !/^(rgb|color)/.test(style.fill)) continue;
			below = over(colour(style.fill), below, Number(style.fillOpacity) * Number(style.opacity));
		}
		return [below, opacity];
	};

	// 4.5:1, and 3:1 for large letters of a text that flows, as WCAG has it.
	const contrast = () => {
		const found = new Map(), done = new Set(), seen = new Map();
		const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
		while (walker.nextNode()) {
			const element = walker.currentNode.parentElement;
			if (!words(walker.currentNode.data) || done.has(element)) continue;
			done.add(element);
			const box = element.getBoundingClientRect(), drawn = element instanceof SVGElement;
			if (drawn && !element.closest("text") || box.width <= 1) continue;
			if (!element.checkVisibility({visibilityProperty: true})) continue;
			const style = getComputedStyle(element), size = parseFloat(style.fontSize);
			const needed = !drawn && (size >= 24 || size >= 18.66 && Number(style.fontWeight) >= 700) ? 3 : 4.5;
			const [below, opacity] = drawn ? behind_drawn(element.closest("text"), seen) : behind(element, seen);
			const ink = over(colour(drawn ? style.fill : style.color), below, opacity * (drawn ? Number(style.fillOpacity) : 1));
			const measured = ratio(ink, below);
			if (measured >= needed - 0.005) continue;
			const pair = measured.toFixed(2) + ":1, " + hex(ink) + " on " + hex(below);
			found.has(pair) ? found.get(pair).push(element) : found.set(pair, [element]);
		}
		return [...found].sort((a, b) => b[1].length - a[1].length)
			.map(([pair, where]) => pair + " in " + where.length + " places, such as " + named(where[0]));
	};

	// ---- headline numbers

	const shown = (element, what) => {
		const box = element.getBoundingClientRect(), said = named(element);
		if (!box.width || !box.height || !element.checkVisibility({visibilityProperty: true}))
			return [what + " is not visible: " + said];
		if (box.left < 0 || box.right > innerWidth + 0.5)
			return [what + " ends at " + Math.round(box.right) + " px of " + innerWidth + ": " + said];
		for (let up = element.parentElement; up && up !== document.body; up = up.parentElement) {
			const clip = up.getBoundingClientRect();
			if (getComputedStyle(up).overflowX !== "visible" && (box.right > clip.right + 0.5 || box.left < clip.left - 0.5))
				return [what + " is cut off by " + named(up).split(' "')[0] + ": " + said];
		}
		return [];
	};

	const smallest = (row, text) => {
		const holds = all("*", row).filter(one => words(one.innerText).includes(text));
		return holds.find(one => ![...one.children].some(child => holds.includes(child)));
	};

	const headline_rows = () => all("#headline tr").filter(row => row.querySelector(".value"));
	const numbers = () => headline_rows().map(row => words(row.querySelector(".value").textContent));

	// A row a number, with its unit and what it holds for, in full.
	const headline = conditions => {
		const rows = headline_rows();
		if (rows.length < conditions.length)
			return [rows.length + " rows with a .value in #headline, of " + conditions.length + " numbers"];
		const cells = rows.flatMap(row => [".value", ".unit"].flatMap(css => {
			const cell = row.querySelector(css);
			if (!cell) return [named(row) + " has no " + css];
			return css === ".unit" && !words(cell.textContent) ? [] : shown(cell, css);
		}));
		return cells.concat(conditions.filter(text => text).flatMap(text => {
			const where = rows.map(row => smallest(row, words(text))).find(one => one);
			return where ? shown(where, "a condition") : ['no row says "' + text + '"'];
		}));
	};

	// ---- what is no rule

	const unfold = open => all("details").forEach(one => { one.open = open; });

	const print_margins = () => {
		const pages = [], look = rules => { for (const rule of rules) {
			if (rule instanceof CSSPageRule && !rule.selectorText) pages.push(rule.style);
			else if (rule.cssRules && (!rule.media || matchMedia(rule.media.mediaText).matches)) look(rule.cssRules);
		} };
		for (const sheet of document.styleSheets) look(sheet.cssRules);
		const ruler = document.body.appendChild(document.createElement("div"));
		const pixels = side => pages.reduce((width, style) => {
			ruler.style.width = style[side] || width + "px";
			return ruler.getBoundingClientRect().width;
		}, 0);
		const width = pixels("marginLeft") + pixels("marginRight");
		ruler.remove();
		return width;
	};

	const paint = () => luminance(behind(document.body)[0]);

	// One known font, and every digit a 0: what a picture shows then is the layout.
	const plain = style => {
		const sheet = new CSSStyleSheet();
		sheet.replaceSync('*, svg text { font-family: "Liberation Sans" !important; } ' + style);
		document.adoptedStyleSheets = [sheet];
		const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
		while (walker.nextNode()) {
			const text = walker.currentNode;
			if (/[1-9]/.test(text.data)) text.data = text.data.replace(/[1-9]/g, "0");
		}
	};

	const replace_word = (before, after) => {
		const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
		while (walker.nextNode()) if (walker.currentNode.data.includes(before)) {
			walker.currentNode.data = walker.currentNode.data.replace(before, after);
			return true;
		}
		return false;
	};

	return {headings, tables, drawings, links, language, landmarks, sideways, aside, scrolling, paper, folds, contrast, headline,
		numbers, unfold, print_margins, paint, plain, replace_word};
})()
