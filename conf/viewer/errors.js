// What the API says of a request, in people's words. What is not known here is
// shown as the API says it.

import {t} from './texts.js';

const RULES = [
    [/^must be a string of 1 to 20 digits/, 'error.id'],
    [/^must be an integer from (\S+) to (\S+)$/, 'error.number'],
    [/^must (?:be|have) (\d+) to (\d+) characters(?: long)?$/,
        'error.length'],
    [/^must be at most (\d+) characters long$/, 'error.longest'],
    [/^must be an .*https URL$/, 'error.address'],
    [/^must have at most (\d+) items$/, 'error.items'],
    [/^must have (\d+) to (\d+) items$/, 'error.choose'],
    [/^(?:is required|must be a string)$/, 'error.required'],
    [/^is not valid UTF-8$/, 'error.characters'],
    [/^must not contain NUL$/, 'error.characters'],
    [/^belongs to another server$/, 'error.foreignChannel'],
    [/^cannot be off$/, 'error.off'],
    [/^is taken$/, 'error.taken'],
    [/^needed where there is no image$/, 'error.textOrImage'],
    [/^needs the Pro or Pro Lite plan$/, 'error.plan'],
    [/^at most 200 users have access$/, 'error.access'],
    [/^an ignore list has at most 1000 entries$/, 'error.ignoreFull'],
    [/^more than 25 tags need the Pro plan$/, 'error.tagsPlan'],
    [/^there are at most 1,000 tags$/, 'error.tagsFull'],
    [/^more than .+ alerts? needs? .+ plan$/, 'error.alertsPlan'],
    [/^there are at most 20 alerts$/, 'error.alertsFull'],
    [/^everybody cannot be mentioned$/, 'error.everybody'],
    [/^is none of this server$/, 'error.foreignRole'],
    [/^a server has at most 5 live tokens$/, 'error.tokensFull'],
    [/^a test message was asked for less than a minute ago$/,
        'error.testSoon'],
    [/^the logs could not be read/, 'error.unread'],
    [/^too many requests of this server at once/, 'error.busy'],
];


export function inWords(text) {
    const [rule, key] = RULES.find(([known]) => known.test(text)) ?? [];
    const [, least, most] = rule?.exec(text) ?? [];

    return rule ? t(key, {least, most: most ?? least}) : text;
}
