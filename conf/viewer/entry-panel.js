// The panel beside the list, with the entry that is open.

import {button, fill, h} from './dom.js';
import {deliveryNode, entryNode} from './entry.js';


export class EntryPanel {

    // step(by) goes to a newer or an older entry, close() closes this one,
    // narrow({name: value}) filters by what is clicked
    constructor({step, close, narrow}) {
        const quiet = {class: 'quiet'};

        this.narrow = narrow;
        this.tools = h('div', {class: 'tools'},
            button('↑', () => step(-1),
                {...quiet, 'aria-label': 'Newer entry'}),
            button('↓', () => step(1),
                {...quiet, 'aria-label': 'Older entry'}),
            h('span', {class: 'gap'}),
            button('✕', close, {...quiet, 'aria-label': 'Close'}));
        this.node = h('aside', {class: 'entry', 'aria-label': 'Entry',
            hidden: true, onkeydown: (event) => event.key === 'Escape'
                && close()});
    }


    show(entry) {
        this.open(entryNode(entry, this.narrow));
    }


    // why there is none
    explain(title, why) {
        this.open(h('article', null, h('h2', {tabindex: -1}, title),
            h('p', null, why)));
    }


    open(node) {
        fill(this.node, this.tools, node);
        this.node.hidden = false;
        this.node.scrollTop = 0;
        this.node.querySelector('h2').focus();
    }


    hide() {
        this.node.hidden = true;
    }


    // what has become of its delivery meanwhile
    update(entry) {
        if (!this.node.hidden && entry) {
            this.node.querySelector('.outcome').replaceWith(
                deliveryNode(entry.delivery));
        }
    }
}
