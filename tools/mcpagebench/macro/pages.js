// SPDX-License-Identifier: GPL-2.0-only
// What a browser does with a few pages: each has a thread and a heap of its own,
// where markup becomes a tree of small objects, gets styles and a layout, and
// changes, so that there is garbage to collect.
'use strict';

const { Worker, isMainThread, parentPort, workerData } = require('worker_threads');

const PAGES = 4;
const ROWS = 1000;
const ROUNDS = 2;

function markup(page) {
	const parts = ['<body>'];

	for (let i = 0; i < ROWS; i++)
		parts.push(`<div class=row${i % 7} id=p${page}r${i}>`,
			`<a href=/${page}/${i}>item ${i}</a>`,
			`<p>${'text '.repeat(i % 9)}</p></div>`);
	parts.push('</body>');
	return parts.join('');
}

function parse(text) {
	const root = { tag: 'root', attributes: {}, children: [], parent: null };
	let at = root;

	for (const [, close, tag, attributes, content] of
	     text.matchAll(/<(\/?)(\w+)([^>]*)>|([^<]+)/g)) {
		if (content) {
			at.children.push({ tag: 'text', content, parent: at });
		} else if (close) {
			at = at.parent;
		} else {
			const element = { tag, attributes: {}, children: [], parent: at };

			for (const [, name, value] of attributes.matchAll(/(\w+)=(\S+)/g))
				element.attributes[name] = value;
			at.children.push(element);
			at = element;
		}
	}
	return root;
}

// Each element's style inherits from its parent's; the height is that of all below.
function layout(element, inherited) {
	const style = { ...inherited, display: element.tag === 'a' ? 'inline' : 'block' };

	if (element.attributes?.class)
		style.color = `rgb(${element.attributes.class.length}, 0, 0)`;
	element.box = { style, width: style.width, height: element.content?.length || 0 };
	for (const child of element.children || [])
		element.box.height += layout(child, style).height;
	return element.box;
}

// Every third row is replaced.
function change(body, page) {
	const rows = parse(markup(page)).children[0].children;

	for (let i = 0; i < rows.length; i += 3) {
		rows[i].parent = body;
		body.children[i] = rows[i];
	}
}

if (isMainThread) {
	let height = 0;

	for (let page = 0; page < PAGES; page++)
		new Worker(__filename, { workerData: page })
			.on('message', (value) => { height += value; })
			.on('error', (error) => { throw error; });
	process.on('exit', () => console.log(height));
} else {
	const tree = parse(markup(workerData));
	let height;

	for (let round = 0; round < ROUNDS; round++) {
		height = layout(tree, { width: 800, color: 'black', font: 'serif' }).height;
		change(tree.children[0], workerData + round);
	}
	parentPort.postMessage(height);
}
