// @ts-check
// The live tail. EventSource cannot carry a token in a header, so its events
// are read from a response's body.

import {open, Refusal} from './api.js';

const SILENCE = 40_000;    // the server says something every 15 seconds
const PAUSE = 1000;


// Hands over entries, from behind the one given or from now on, until the
// signal is aborted; resumes by itself behind what came last. opened(lastId)
// is called each time it listens, reset(lastId) where that was too long ago.
export async function follow(filters, lastId, signal, {opened, reset, entry}) {
    while (!signal.aborted) {
        try {
            const response = await open('/logs/stream', filters, signal,
                lastId && {'Last-Event-ID': lastId});

            opened(lastId);
            for await (const event of eventsOf(response)) {
                lastId = event.id;
                if (event.type === 'reset') {
                    reset(lastId);
                } else {
                    entry(JSON.parse(event.data));
                }
            }
        } catch (error) {
            if (signal.aborted || error instanceof Refusal) {
                return;
            }
        }
        await new Promise((resolve) => setTimeout(resolve, PAUSE));
    }
}


// {id, type, data}; ends when the connection does, or nothing comes for long
async function* eventsOf(response) {
    const reader = response.body.pipeThrough(new TextDecoderStream())
        .getReader();
    let event = {data: ''};
    let rest = '';

    try {
        for (;;) {
            const {done, value} = await inTime(reader.read());
            if (done) {
                return;
            }

            const lines = (rest + value).split('\n');
            rest = lines.pop() ?? '';

            for (const line of lines) {
                if (line.startsWith('id: ')) {
                    event.id = line.slice(4);
                } else if (line.startsWith('event: ')) {
                    event.type = line.slice(7);
                } else if (line.startsWith('data: ')) {
                    event.data += line.slice(6);
                } else if (line === '' && event.data) {
                    yield event;
                    event = {data: ''};
                }
            }
        }
    } finally {
        reader.cancel().catch(() => {});
    }
}


function inTime(promise) {
    let timer;

    return Promise.race([promise, new Promise((_, reject) => {
        timer = setTimeout(reject, SILENCE, new Error('silence'));
    })]).finally(() => clearTimeout(timer));
}
