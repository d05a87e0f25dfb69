// May the bot view the audit log of its servers? Where not, nobody is known to
// have done anything, and what only that log tells does not come. Pure.

import {EventEmitter} from 'node:events';

const ENOUGH = 1n << 3n | 1n << 7n;        // administrator, view the audit log


// Emits "said" (sentence) when a server takes or gives that permission
export class Rights extends EventEmitter {

    constructor(bot) {
        super();
        this.bot = bot;
        this.servers = new Map();  // id: {name, roles: {id: text}, mine, may}
        this.changes = 0;
    }


    get state() {
        return [...this.servers];
    }


    set state(state) {
        this.servers = new Map(state);
    }


    see({t, d}) {
        const of = this.servers.get(d?.guild_id);

        if (t === 'GUILD_CREATE' && !d.unavailable) {
            this.#judge(d.id, {name: d.name,
                roles: Object.fromEntries((d.roles ?? []).map((role) =>
                    [role.id, role.permissions])),
                mine: d.members?.find(({user}) => user.id === this.bot)?.roles
                    ?? [],
                may: this.servers.get(d.id)?.may ?? true});
        } else if (t === 'GUILD_DELETE' && !d.unavailable) {
            this.servers.delete(d.id);
            this.changes++;
        } else if (of && /^GUILD_ROLE_(CREATE|UPDATE)$/.test(t)) {
            of.roles[d.role.id] = d.role.permissions;
            this.#judge(d.guild_id, of);
        } else if (of && t === 'GUILD_ROLE_DELETE') {
            delete of.roles[d.role_id];
            this.#judge(d.guild_id, of);
        } else if (of && t === 'GUILD_MEMBER_UPDATE' && d.user.id === this.bot) {
            of.mine = d.roles;
            this.#judge(d.guild_id, of);
        }
    }


    // everybody has the role that has the id of the server
    #judge(id, of) {
        const bits = [id, ...of.mine].reduce((sum, role) =>
            sum | BigInt(of.roles[role] ?? 0), 0n);
        const may = (bits & ENOUGH) !== 0n;

        this.servers.set(id, of);
        this.changes++;
        if (may !== of.may) {
            of.may = may;
            this.emit('said', may ? `${of.name} (${id}) lets the bot view the`
                + ' audit log' : `${of.name} (${id}) does not let the bot view`
                + ' the audit log: who did what is not known there, and what'
                + ' only that log tells does not come. Give it the permission'
                + ' View Audit Log');
        }
    }
}
