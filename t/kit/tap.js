// What the programs of this folder share: they print TAP.

import assert from 'node:assert/strict';

let tests = 0;


export function ok(good, name) {
    console.log(`${good ? 'ok' : 'not ok'} ${++tests} - ${name}`);
}


export function is(got, wanted, name) {
    try {
        assert.deepEqual(got, wanted);
        ok(true, name);
    } catch (error) {
        ok(false, name);
        console.error(error.message);
    }
}


// the promise fails with an error of that class
export async function fails(promise, Class, name) {
    const error = await promise.then(() => null, (it) => it);

    ok(error instanceof Class, name);
    if (!(error instanceof Class)) {
        console.error(error);
    }
    return error;
}


export function done() {
    console.log(`1..${tests}`);
}
