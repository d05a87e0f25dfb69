import {Guildlog, Operator, RateLimited} from 'guildlog';
import {attach} from 'guildlog/discord';
import {TYPES} from 'guildlog/log-types';

const api = new Guildlog({url: 'http://localhost/api', token: 'x'});
const operator = new Operator({url: 'unix:/run/guildlog/operator.sock'});
const name: string = (await api.serverGet()).name;
await api.channelsPatch({body: {main_channel: '3000'}, bot: 'pro'});
// @ts-expect-error: no such channel
await api.channelsPatch({body: {main_chanel: '3000'}});
// @ts-expect-error: a parameter of the path is missing
await api.ignoreGet();
await api.ignoreAdd({ignore_type: 2, body: {value: '7'}});
for await (const entry of api.entries({type: [39], limit: 200})) {
    const reason: string | null = entry.reason;
    console.log(reason, name);
}
for await (const {id} of api.tail({lastEventId: '1'})) {
    console.log(id.length);
}
for await (const piece of (await api.logsExport({format: 'ndjson'})) ?? []) {
    console.log(piece);
}
await operator.serverPut({guild_id: '100000000000000001', body: {name: 'A'}});
// @ts-expect-error: the operator has no server of its own
await operator.tokenCreate({body: {permissions: 1, creator: '2'}});
const recorder = await operator.recorder({spool: '/var/spool/bot'});
await recorder.record('100000000000000001', {type: 5, content: 'x'});
// @ts-expect-error: no such field
await recorder.record('100000000000000001', {type: 5, contents: 'x'});
await recorder.forward({t: 'GUILD_CREATE', d: {id: '100000000000000001'}});
// @ts-expect-error: no packet
await recorder.forward({type: 5});
recorder.on('refused', (what, error) => console.log(what.type, what.t, error));
recorder.on('wanted', (server, ids) => console.log(server, ids.length));
const seconds = (error: unknown) =>
    error instanceof RateLimited ? error.retryAfter : 0;
console.log(seconds, recorder.counters.recorded);
const ban: number | undefined = TYPES.ban;
console.log(ban);
const adapter = await attach({on: () => null}, operator, {spool: '/tmp/bot'});
const sentences: string[] = adapter.missing;
console.log(sentences, adapter.counters.lost);
