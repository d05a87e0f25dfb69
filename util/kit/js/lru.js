// A map of so many keys: the one that was not used for longest goes first.

export class Lru extends Map {

    constructor(most) {
        super();
        this.most = most;
    }


    get(key) {
        const value = super.get(key);

        if (value !== undefined) {
            super.delete(key);
            super.set(key, value);
        }
        return value;
    }


    set(key, value) {
        super.delete(key);
        super.set(key, value);
        if (this.size > this.most) {
            super.delete(this.keys().next().value);
        }
        return this;
    }
}
