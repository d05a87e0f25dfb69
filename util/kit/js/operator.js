// A client of the operator location: over a unix socket, or over TLS with a
// certificate of the client's.

import {Connection} from './connection.js';
import {addMethods} from './methods.js';
import {OPERATOR} from './operations.js';
import {Recorder} from './recorder.js';


export class Operator {

    constructor(options) {
        this.connection = new Connection(options);
    }


    // What hands in entries; see recorder.js
    recorder(options) {
        return Recorder.open(this.connection, options);
    }


    close() {
        this.connection.close();
    }
}


addMethods(Operator, OPERATOR);
