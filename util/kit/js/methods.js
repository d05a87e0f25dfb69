// A method for each operation of an OpenAPI document, as operations.js has them.

// Its argument has the parameters of path and query by their names, and "body"
export function addMethods(Class, operations) {
    for (const [name, [method, path]] of Object.entries(operations)) {
        Class.prototype[name] ??= function call(args = {}, {signal} = {}) {
            const {body, ...query} = args;
            const filled = path.replace(/\{(\w+)\}/g, (_, place) => {
                const value = query[place] ?? this.defaults?.[place];

                if (value === undefined) {
                    throw new TypeError(`${name}: ${place} is missing`);
                }
                delete query[place];
                return encodeURIComponent(value);
            });

            return this.connection.call(method, filled, {query, body, signal});
        };
    }
}
