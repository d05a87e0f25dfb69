// @ts-check
// Tables of this folder that the module reads, too: lines of fields, with tabs
// between them.

// known in every language; asked for at once
export const types = rowsOf('log-types.tsv');
export const changeKeys = rowsOf('change-keys.tsv');


// the fields of each line that is no comment
export async function linesOf(file) {
    const answer = await fetch(new URL(file, import.meta.url));

    if (!answer.ok) {
        throw new Error(`${file}: ${answer.status}`);
    }

    return (await answer.text()).split('\n')
        .filter((line) => line && !line.startsWith('#'))
        .map((line) => line.split('\t'));
}


// objects, by the names of the first line
async function rowsOf(file) {
    const [names, ...lines] = await linesOf(file);

    return lines.map((line) => Object.fromEntries(line.map((field, i) =>
        [names[i], field])));
}
