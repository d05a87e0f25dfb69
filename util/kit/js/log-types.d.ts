/** the numbers of the log types, by their keys */
export const TYPES: Readonly<Record<string, number>>;
/** by an intent's bit: the types that come by it alone */
export const ONLY: Readonly<Record<number, readonly string[]>>;
