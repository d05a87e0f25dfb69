// The same calls through four clients that were generated from openapi.yaml. That
// this compiles says that the types have what a caller needs: names of log types,
// and the text of an error whatever its status.

import createClient from 'openapi-fetch';
import {LogType, type paths} from './openapi-typescript';
import * as hey from './hey-api';
import {client} from './hey-api/client.gen';
import * as orval from './orval';
import {Api, LogType as SwaggerLogType} from './swagger-typescript-api/Api';

declare const process: {env: Record<string, string>; exitCode: number};

const base = process.env.GUILDLOG_URL;
const server = process.env.GUILDLOG_SERVER;
const other = process.env.GUILDLOG_OTHER;
const headers = {Authorization: `Bearer ${process.env.GUILDLOG_ADMIN_TOKEN}`};
let tests = 0;


function is(got: unknown, expected: unknown, name: string) {
    const same = JSON.stringify(got) === JSON.stringify(expected);
    console.log(`${same ? '' : 'not '}ok ${++tests} - ${name}`);
    if (!same) {
        console.log(`# got ${JSON.stringify(got)}`);
        process.exitCode = 1;
    }
}


const nickname = '{executor} changed the nickname of {target}';


async function openapiFetch() {
    const api = createClient<paths>({baseUrl: base, headers});
    const at = {guild_id: server};

    const types = await api.GET('/log-types');
    is(types.data?.[LogType.nicknameUpdate].sentence, nickname,
        'openapi-fetch: log types');

    const page = await api.GET('/servers/{guild_id}/logs', {params: {path: at,
        query: {type: [LogType.messageDelete, LogType.ban], limit: 5}}});
    is(page.data?.entries.map((entry) => entry.type === LogType.messageDelete),
        [true], 'openapi-fetch: a page');

    const wrong = await api.GET('/servers/{guild_id}/logs', {params: {path: at,
        query: {cursor: 'x'}}});
    is([wrong.response.status, typeof wrong.error?.error], [400, 'string'],
        'openapi-fetch: what is wrong');

    const refused = await api.GET('/servers/{guild_id}/logs',
        {params: {path: {guild_id: other}}});
    is([refused.response.status, refused.error?.error], [403, undefined],
        'openapi-fetch: another server');
}


async function heyApi() {
    client.setConfig({baseUrl: base, headers});
    const path = {guild_id: server};

    const types = await hey.logTypes();
    is(types.data?.[25].sentence, nickname, 'hey-api: log types');

    const page = await hey.logsPage({path, query: {type: [5, 39], limit: 5}});
    is(page.data?.entries.map((entry) => entry.type), [5], 'hey-api: a page');

    const refused = await hey.logsPage({path: {guild_id: other}});
    is([refused.response?.status, refused.error?.error], [403, undefined],
        'hey-api: another server');
}


async function orvalFetch() {
    const send = globalThis.fetch;
    globalThis.fetch = (path, init) => send(`${base}${path}`, init);

    const types = await orval.logTypes({}, {headers});
    is(types.status === 200 && types.data[orval.LogType.nicknameUpdate].sentence,
        nickname, 'orval: log types');

    const page = await orval.logsPage(server,
        {type: [orval.LogType.messageDelete], limit: 5}, {headers});
    is(page.status === 200 && page.data.entries.map((entry) => entry.type), [5],
        'orval: a page');

    const refused = await orval.logsPage(other, {}, {headers});
    is([refused.status, refused.status === 403 && refused.data.error],
        [403, undefined], 'orval: another server');
    globalThis.fetch = send;
}


async function swagger() {
    const api = new Api({baseUrl: base, baseApiParams: {headers}});

    const types = await api.logTypes.logTypes();
    is(types.data[SwaggerLogType.NicknameUpdate].sentence, nickname,
        'swagger-typescript-api: log types');

    const page = await api.servers.logsPage(server,
        {type: [SwaggerLogType.MessageDelete, SwaggerLogType.Ban], limit: 5});
    is(page.data.entries.map((entry) => entry.type), [5],
        'swagger-typescript-api: a page');

    const refused = await api.servers.logsPage(other).catch((it) => it);
    is(refused.status, 403, 'swagger-typescript-api: another server');
}


void (async () => {
    await openapiFetch();
    await heyApi();
    await orvalFetch();
    await swagger();
    console.log(`1..${tests}`);
})();
