// The package: a client of the API, one of the operator location, and what
// hands in entries.

export * from './errors.js';
export {Guildlog} from './api.js';
export {Operator} from './operator.js';
export {Recorder} from './recorder.js';
