// @ts-check
// How the page looks, which the browser remembers: the colours, the clock and
// the language of the reader's own choice, and the language of the server that
// was read last.

const KEY = 'guildlog.look';


// {theme, clock, language, served}
export function looks() {
    try {
        return JSON.parse(localStorage.getItem(KEY) ?? '{}');
    } catch {
        return {};
    }
}


export function keepLook(name, value) {
    localStorage.setItem(KEY, JSON.stringify({...looks(), [name]: value}));
}
