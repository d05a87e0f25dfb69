// @ts-check
// Entries over time as bars, a colour for each category. A stretch of them,
// drawn with the pointer or with Shift and the arrow keys, becomes the filter.

import {fill, h, svg} from './dom.js';
import {MINUTE, isMidnight, spanTime, tickTime} from './time.js';
import {direction, t} from './texts.js';
import {CATEGORIES} from './words.js';

const TICK = 90;      // px, with the room around it
const BACK = direction === 'rtl';     // time runs as the text does


export class Chart {

    // chosen(from, to) is called with the stretch
    constructor(chosen) {
        this.chosen = chosen;
        this.bars = [];
        this.drawing = svg('svg', {preserveAspectRatio: 'none',
            'aria-hidden': 'true'});
        this.stretch = h('div', {class: 'stretch', hidden: true});
        this.plot = h('div', {class: 'plot', role: 'slider', tabindex: 0,
            'aria-label': t('chart.label'),
            onpointerdown: (event) => this.down(event),
            onpointermove: (event) => this.move(event),
            onpointerup: () => this.up(),
            onpointercancel: () => this.drop(),
            onpointerleave: () => this.dragging || this.say(),
            onblur: () => this.drop(),
            onkeydown: (event) => this.key(event)},
            this.drawing, this.stretch);
        this.axis = h('div', {class: 'axis', 'aria-hidden': true});
        this.saying = h('div', {class: 'saying', 'aria-hidden': true});
        this.node = h('div', {class: 'chart'},
            this.plot, this.axis, this.saying);
    }


    show({bars}) {
        this.bars = bars;
        this.at = bars.length - 1;
        this.drop();
        this.drawing.setAttribute('viewBox', `0 0 ${bars.length || 1} 100`);
        fill(this.axis, ticksOf(bars, this.axis.clientWidth).map((i) => {
            const tick = h('span', null, tickTime(bars[i].from));

            tick.style.insetInlineStart = `${100 * i / bars.length}%`;
            return tick;
        }));
        this.plot.setAttribute('aria-valuemin', '0');
        this.plot.setAttribute('aria-valuemax', String(Math.max(this.at, 0)));
        this.draw();
    }


    draw() {
        const most = Math.max(1, ...this.bars.map(sum));
        const shapes = [];

        this.bars.forEach((bar, i) => {
            let y = 100;

            for (const category of Object.keys(CATEGORIES)) {
                const n = bar.counts?.[category];
                if (n) {
                    const height = Math.max(100 * n / most, 0.8);
                    y -= height;
                    shapes.push(svg('rect', {x: i + 0.1, y, width: 0.8,
                        height, 'data-category': category}));
                }
            }
        });
        this.drawing.replaceChildren(...shapes);
        this.say();
    }


    fail(error) {
        this.saying.textContent = t('chart.unread', {why: error.message});
    }


    // what is chosen, or the bar at hand, in words
    say(i = this.at) {
        const [first, last] = this.range(i);
        const bars = this.bars.slice(first, last + 1);

        if (!bars.length) {
            this.saying.textContent = '';
            this.plot.setAttribute('aria-valuenow', '0');
            this.plot.setAttribute('aria-valuetext', t('chart.nothing'));
            return;
        }

        const total = bars.reduce((n, bar) => n + sum(bar), 0);
        const text = t('chart.bar', {
            time: spanTime(bars[0].from, bars.at(-1).to),
            entries: bars.some((bar) => !bar.counts) ? '…'
                : t('logs.entries', {count: total})});

        this.saying.textContent = text;
        this.plot.setAttribute('aria-valuenow', i);
        this.plot.setAttribute('aria-valuetext', text);
    }


    range(i) {
        const from = this.from ?? i;
        return [Math.min(from, i), Math.max(from, i)];
    }


    // shows from where to where is being chosen
    mark(i) {
        const [first, last] = this.range(i);
        const {style} = this.stretch;

        this.at = i;
        this.stretch.hidden = false;
        style.insetInlineStart = `${100 * first / this.bars.length}%`;
        style.width = `${100 * (last - first + 1) / this.bars.length}%`;
        this.say(i);
    }


    drop() {
        this.from = undefined;
        this.dragging = false;
        this.stretch.hidden = true;
    }


    take() {
        const [first, last] = this.range(this.at);
        const bars = this.bars.slice(first, last + 1);

        this.drop();
        if (bars.length) {
            this.chosen(bars[0].from, bars.at(-1).to);
        }
    }


    barAt({clientX}) {
        const {left, right, width} = this.plot.getBoundingClientRect();
        const i = Math.floor((BACK ? right - clientX : clientX - left)
            / width * this.bars.length);

        return Math.max(0, Math.min(i, this.bars.length - 1));
    }


    down(event) {
        if (event.button === 0 && this.bars.length) {
            this.plot.setPointerCapture(event.pointerId);
            this.dragging = true;
            this.from = this.barAt(event);
            this.mark(this.from);
        }
    }


    move(event) {
        if (this.dragging) {
            this.mark(this.barAt(event));
        } else if (this.bars.length) {
            this.say(this.barAt(event));
        }
    }


    up() {
        if (this.dragging) {
            this.take();
        }
    }


    key(event) {
        const right = BACK ? -1 : 1;
        const step = {ArrowLeft: -right, ArrowRight: right}[event.key];

        if (step && this.bars.length) {
            const to = Math.max(0, Math.min(this.at + step,
                this.bars.length - 1));

            this.from = event.shiftKey ? this.from ?? this.at : undefined;
            this.mark(to);
        } else if (event.key === 'Enter') {
            this.take();
        } else if (event.key === 'Escape') {
            this.drop();
        } else {
            return;
        }
        event.preventDefault();
    }
}


// Which bars are told apart below: midnights, where there are any, else full
// minutes, as many as there is room for.
function ticksOf(bars, width) {
    const room = bars.length * (1 - TICK / width);
    const places = [...bars.keys()].filter((i) => i < room
        && bars[i].from % MINUTE === 0);
    const midnights = places.filter((i) => isMidnight(bars[i].from));
    const likely = midnights.length > 1 ? midnights : places;
    const each = Math.ceil(likely.length * TICK / width);

    return likely.filter((_, i) => i % each === 0);
}


function sum(bar) {
    return Object.values(bar.counts ?? {}).reduce((n, one) => n + one, 0);
}
