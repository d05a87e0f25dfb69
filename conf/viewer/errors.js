// What the API says of a request, in people's words. What is not known here is
// shown as the API says it.

const RULES = [
    [/^must be a string of 1 to 20 digits/, 'This is no ID. Choose a name of '
        + 'the list, or give the digits of an ID.'],
    [/^must be an integer from (\S+) to (\S+)$/, 'This has to be a whole '
        + 'number from $1 to $2.'],
    [/^must (?:be|have) (\d+) to (\d+) characters(?: long)?$/, 'This has to '
        + 'have $1 to $2 characters.'],
    [/^must be at most (\d+) characters long$/, 'This may have at most $1 '
        + 'characters.'],
    [/^must be an .*https URL$/, 'This has to be an address that begins with '
        + 'https:// or http://.'],
    [/^must have at most (\d+) items$/, 'There may be at most $1.'],
    [/^is not valid UTF-8$/, 'This has characters that cannot be stored.'],
    [/^must not contain NUL$/, 'This has characters that cannot be stored.'],
    [/^belongs to another server$/, 'This channel belongs to another server.'],
    [/^cannot be off$/, 'This one cannot be switched off.'],
    [/^is taken$/, 'This name is taken already.'],
    [/^needed where there is no image$/, 'A text or an image is needed.'],
    [/^needs the Pro or Pro Lite plan$/, 'This needs the Pro or Pro Lite '
        + 'plan.'],
    [/^at most 200 users have access$/, 'At most 200 people can have access.'],
    [/^an ignore list has at most 1000 entries$/, 'This list is full: it has '
        + '1,000 entries.'],
    [/^more than 25 tags need the Pro plan$/, 'The server has 25 tags; more '
        + 'of them need the Pro plan.'],
    [/^there are at most 1,000 tags$/, 'The server has 1,000 tags, and cannot '
        + 'have more.'],
    [/^a server has at most 5 live tokens$/, 'The server has five tokens. '
        + 'Revoke one of them first.'],
    [/^a test message was asked for less than a minute ago$/, 'A test '
        + 'message was sent less than a minute ago. Try again in a minute.'],
    [/^the logs could not be read/, 'The logs could not be read. Try again '
        + 'later.'],
    [/^too many requests of this server at once/, 'Too much is asked of this '
        + 'server’s logs at once. Try again in a moment.'],
];


export function inWords(text) {
    const [rule, words] = RULES.find(([known]) => known.test(text)) ?? [];

    return rule ? rule.exec(text).reduce((said, value, i) =>
        i ? said.replace(`$${i}`, value) : said, words) : text;
}
