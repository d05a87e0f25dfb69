// @ts-check
// The list of entries: as long as all of them, made of the few lines that are
// to be seen. Lines that leave the view are used again for those that come.

import {h} from './dom.js';
import {COLUMNS, LogRow} from './log-row.js';
import {t} from './texts.js';
import {dayOf, sameDay, widestTimes} from './time.js';

const MORE = 8;            // lines beyond each edge
const SPARE = 100;
const MOST = 400;          // lines in view, however high the list is
const TALLEST = 10e6;      // px; browsers take no element of any height


export class LogList {

    // opened(index) is called when the reader asks for a line's whole,
    // failed(error) when lines could not be had
    constructor(opened, failed) {
        this.opened = opened;
        this.failed = failed;
        this.pages = null;
        this.rows = new Map();    // by index
        this.height = 0;          // of a line
        this.view = 0;            // ... of what is shown of all lines
        this.tall = 0;            // ... of all of them
        this.scale = 1;           // lines to a pixel of scrolling
        this.spare = [];
        this.current = 0;         // the line the keyboard is at
        this.selected = null;     // id of the entry that is open
        this.hits = null;         // finds what was searched for

        this.day = h('span', {class: 'day', 'aria-hidden': true});
        this.head = h('div', {class: 'heading', role: 'rowgroup'},
            h('div', {class: 'row', role: 'row', 'aria-rowindex': 1},
                COLUMNS.map((name) => h('span', {role: 'columnheader',
                    class: name}, h('span', null, t(`list.${name}`)))),
                this.day));
        this.body = h('div', {class: 'rows', role: 'rowgroup'});
        this.node = h('div', {class: 'list', role: 'grid',
            'aria-label': t('list.label'), 'aria-readonly': true},
            this.head, this.body);

        this.node.addEventListener('scroll', () => this.later(),
            {passive: true});
        this.body.addEventListener('keydown', (event) => this.key(event));
        this.body.addEventListener('click', (event) => this.click(event));
        this.body.addEventListener('focusin', (event) => this.focus(event));
        new ResizeObserver(() => this.measure()).observe(this.node);
    }


    show(pages, atTop = true) {
        this.pages = pages;
        if (atTop) {
            this.current = 0;
            this.node.scrollTop = 0;
        }
        this.draw();
    }


    // a line's height, which is a matter of the reader's font
    measure() {
        const probe = new LogRow().node;
        /** @type {[string, HTMLElement][]} */
        const widths = Object.entries({'--time': widestTimes().join('\n'),
            '--delivery': t('list.delivery')}).map(([name, text]) =>
            [name, h('span', {class: 'ruler'}, text)]);

        this.body.append(probe, ...widths.map(([, node]) => node));
        this.height = probe.offsetHeight;
        for (const [name, node] of widths) {
            this.node.style.setProperty(name, `${1 + Math.ceil(
                node.getBoundingClientRect().width)}px`);
        }
        [probe, ...widths.map(([, node]) => node)].forEach((node) =>
            node.remove());
        this.view = Math.min(MOST * this.height,
            this.node.clientHeight - this.head.offsetHeight);
        this.draw();
    }


    later() {
        this.frame ??= requestAnimationFrame(() => this.draw());
    }


    // So many lines were put on top: what is being read stays where it is,
    // and so does what has the focus.
    pushed(n) {
        this.current += n;
        this.rows = new Map([...this.rows].map(([index, row]) =>
            [row.index = index + n, row]));
        if (this.node.scrollTop > 0) {
            this.setSize();
            this.node.scrollTop += n * this.height / this.scale;
        }
        this.draw();
    }


    // entries that are shown
    get shown() {
        return [...this.rows.values()].map(({entry}) => entry)
            .filter(Boolean);
    }


    get atTop() {
        return this.node.scrollTop < this.height;
    }


    toTop() {
        this.node.scrollTop = 0;
        this.draw();
    }


    setSize() {
        const {total} = this.pages;
        const full = total * this.height;
        const tall = Math.min(full, TALLEST);

        // beyond TALLEST, one pixel of scrolling stands for more of them
        this.scale = tall > this.view
            ? (full - this.view) / (tall - this.view) : 1;
        if (tall !== this.tall) {
            this.tall = tall;
            this.body.style.height = tall + 'px';
        }
        this.node.ariaRowCount = total + 1;
    }


    draw() {
        cancelAnimationFrame(this.frame);
        this.frame = undefined;
        if (!this.pages || !this.height || !this.view) {
            return;
        }

        this.setSize();
        const {pages, height, scale} = this;
        const {scrollTop} = this.node;
        const top = scrollTop * scale;
        const here = Math.floor(top / height);
        const first = Math.max(here - MORE, 0);
        const last = Math.min(Math.ceil((top + this.view) / height) + MORE,
            pages.total) - 1;

        this.current = Math.max(Math.min(this.current, pages.total - 1), 0);
        this.recycle(first, last);
        this.tellDay(pages.at(here));
        for (let i = first; i <= last; i++) {
            this.place(i, scrollTop - top);
        }
        if (last >= first) {
            pages.want(first, last).catch(this.failed);
        }
    }


    recycle(first, last) {
        const focused = document.activeElement;

        for (const [index, row] of this.rows) {
            const away = index < first || index > last;

            if (away && (row.node !== focused || index >= this.pages.total)) {
                this.rows.delete(index);
                this.spare.push(row);
                row.node.remove();
            }
        }
        this.spare.splice(SPARE);
    }


    place(index, shift) {
        const entry = this.pages.at(index);
        const row = this.rows.get(index) ?? this.take(index);
        const y = index * this.height + shift;

        if (row.y !== y) {
            row.y = y;
            row.node.style.transform = `translateY(${y}px)`;
        }
        row.show(entry, index, entry !== undefined
            && entry.id === this.selected, this.endsDay(index), this.hits);
        row.node.tabIndex = index === this.current ? 0 : -1;
    }


    // whether a day begins, read from the top, with this line
    endsDay(index) {
        const entry = this.pages.at(index);
        const newer = this.pages.at(index - 1);

        return Boolean(entry && newer
            && !sameDay(entry.timestamp, newer.timestamp));
    }


    // the day of the first line that is seen
    tellDay(entry) {
        const day = entry ? dayOf(entry.timestamp) : '';

        if (this.day.textContent !== day) {
            this.day.textContent = day;
        }
    }


    // The order of the nodes is that of the lines: it is what is read out.
    take(index) {
        const row = this.spare.pop() ?? new LogRow();
        const behind = Math.min(...[...this.rows.keys()]
            .filter((other) => other > index));

        row.index = index;
        this.rows.set(index, row);
        this.body.insertBefore(row.node, this.rows.get(behind)?.node ?? null);
        return row;
    }


    // Brings a line into view.
    reveal(index) {
        const {height, scale, node} = this;
        const y = index * height;
        const top = node.scrollTop * scale;

        if (y < top) {
            node.scrollTop = y / scale;
        } else if (y + height > top + this.view) {
            node.scrollTop = Math.ceil((y + height - this.view) / scale);
        }
    }


    reach(index) {
        this.current = Math.max(0, Math.min(index, this.pages.total - 1));
        this.reveal(this.current);
        this.draw();
    }


    // Race: an entry may be closed before the list was read
    go(index) {
        if (!this.pages) {
            return;
        }
        this.reach(index);
        this.rows.get(this.current)?.node.focus({preventScroll: true});
    }


    key(event) {
        const screen = Math.floor(this.view / this.height) - 1;
        const to = {
            ArrowDown: this.current + 1, ArrowUp: this.current - 1,
            PageDown: this.current + screen, PageUp: this.current - screen,
            Home: 0, End: this.pages.total - 1,
        }[event.key];

        if (to !== undefined) {
            this.go(to);
        } else if (event.key === 'Enter' || event.key === ' ') {
            this.opened(this.current);
        } else {
            return;
        }
        event.preventDefault();
    }


    click(event) {
        const row = this.rowOf(event);

        if (row && getSelection()?.isCollapsed) {
            this.current = row.index;
            this.opened(row.index);
        }
    }


    focus(event) {
        const row = this.rowOf(event);

        if (row && row.index !== this.current) {
            this.current = row.index;
            this.draw();
        }
    }


    rowOf(event) {
        const node = event.target.closest('.row');
        return [...this.rows.values()].find((row) => row.node === node);
    }


    select(id) {
        this.selected = id;
        this.draw();
    }
}
