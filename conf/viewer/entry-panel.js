// @ts-check
// The panel beside the list, with the entry that is open. What draws it is not
// loaded before one is.

import {NOTHING} from './address.js';
import {load} from './connection.js';
import {button, fill, h} from './dom.js';
import {mark} from './marks.js';
import {t} from './texts.js';


export class EntryPanel {

    // step(by) goes to a newer or an older entry, close() closes this one,
    // narrow({name: value}) filters by what is clicked, leaveOut(type) by all
    // other types
    constructor({step, close, narrow, leaveOut}) {
        const quiet = {class: 'quiet'};

        this.narrow = narrow;
        this.shown = null;     // the entry
        this.drawn = null;     // what draws it
        this.leaveOut = leaveOut;
        this.tools = h('div', {class: 'tools'},
            button('↑', () => step(-1),
                {...quiet, 'aria-label': t('entry.newer')}),
            button('↓', () => step(1),
                {...quiet, 'aria-label': t('entry.older')}),
            h('span', {class: 'gap'}),
            button('✕', close, {...quiet, 'aria-label': t('page.close')}));
        this.node = h('aside', {class: 'entry', 'aria-label': t('entry.entry'),
            hidden: true, onkeydown: (event) => event.key === 'Escape'
                && close()});
    }


    // hits: finds what was searched for
    async show(entry, hits) {
        this.shown = entry;
        this.node.hidden = false;
        try {
            this.drawn = await load(() => import('./entry.js'));
        } catch (error) {
            if (this.shown === entry) {
                this.explain(t('entry.unread'), error.message);
            }
            return;
        }

        // another one may be wanted by now, or none
        if (this.shown !== entry) {
            return;
        }

        const node = this.drawn.entryNode(entry, this.narrow);

        mark(node, hits);
        this.open([node, this.drawn.entryTools(entry, (filters) =>
            this.narrow({...NOTHING, ...filters}), () =>
            this.leaveOut(entry.type))]);
    }


    // why there is none
    explain(title, why) {
        this.shown = null;
        this.open(h('article', null, h('h2', {tabindex: -1}, title),
            h('p', null, why)));
    }


    open(nodes) {
        fill(this.node, this.tools, nodes);
        this.node.hidden = false;
        this.node.scrollTop = 0;
        this.node.querySelector('h2')?.focus();
    }


    hide() {
        this.shown = null;
        this.node.hidden = true;
    }


    // what has become of its delivery meanwhile
    update(entry) {
        if (this.drawn && !this.node.hidden && entry) {
            this.node.querySelector('.outcome')?.replaceWith(
                this.drawn.deliveryNode(entry.delivery));
        }
    }
}
