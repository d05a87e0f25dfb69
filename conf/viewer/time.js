// @ts-check
// Times, in the reader's zone and manner.

import {h} from './dom.js';
import {looks} from './looks.js';
import {locale} from './texts.js';

// of the reader's own choice, or as the language has it
/** @type {Intl.DateTimeFormatOptions['hourCycle']} */
const hourCycle = looks().clock || undefined;
/** @type {Intl.DateTimeFormatOptions} */
const minute = {hour: '2-digit', minute: '2-digit', hourCycle};
/** @type {Intl.DateTimeFormatOptions} */
const clock = {...minute, second: '2-digit'};
/** @type {Intl.DateTimeFormatOptions} */
const day = {day: 'numeric', month: 'short'};

const formats = {
    today: new Intl.DateTimeFormat(locale, clock),
    year: new Intl.DateTimeFormat(locale, {...day, ...clock}),
    older: new Intl.DateTimeFormat(locale, {...day, year: 'numeric',
        ...minute}),
    span: new Intl.DateTimeFormat(locale, {...day, ...minute}),
    exact: new Intl.DateTimeFormat(locale, {weekday: 'long',
        day: 'numeric', month: 'long', year: 'numeric', ...clock,
        fractionalSecondDigits: 3, timeZoneName: 'short'}),
    date: new Intl.DateTimeFormat(locale, {weekday: 'short', ...day}),
    day: new Intl.DateTimeFormat(locale, {weekday: 'long', day: 'numeric',
        month: 'long', year: 'numeric'}),
    minute: new Intl.DateTimeFormat(locale, minute),
    plain: new Intl.DateTimeFormat(locale, {...day, year: 'numeric',
        ...minute}),
    second: new Intl.DateTimeFormat(locale, {...day, year: 'numeric',
        ...clock}),
    relative: new Intl.RelativeTimeFormat(locale, {numeric: 'auto'}),
};

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

const region = /** @type {any} weeks are newer than TypeScript's */ (
    new Intl.Locale(locale));

let today = new Date();


export function shortTime(ms) {
    const date = new Date(ms);

    if (Math.abs(Date.now() - +today) > MINUTE) {
        today = new Date();
    }
    if (date.getFullYear() !== today.getFullYear()) {
        return formats.older.format(date);
    }
    return date.getDate() === today.getDate()
        && date.getMonth() === today.getMonth()
        ? formats.today.format(date) : formats.year.format(date);
}


// times that take the most room
export function widestTimes() {
    const {today: now, year, older} = formats;
    const late = Array.from({length: 24}, (_, i) => new Date(2028, i % 12, 28,
        i < 12 ? 10 : 22, 58, 58));

    return [now, year, older].flatMap((format) =>
        late.map((date) => format.format(date)));
}


export function sameDay(a, b) {
    return new Date(a).toDateString() === new Date(b).toDateString();
}


export function dayOf(ms) {
    return formats.day.format(ms);
}


export function spokenTime(ms) {
    return formats.exact.format(ms);
}


// a moment, to the second
export function secondTime(ms) {
    return formats.second.format(ms);
}


// day and time, in one piece of text
export function plainTime(ms) {
    return formats.plain.format(ms);
}


export function iso(ms) {
    return new Date(ms).toISOString();
}


export function isMidnight(ms) {
    return new Date(ms).getHours() + new Date(ms).getMinutes() === 0;
}


// a day, or a time of it
export function tickTime(ms) {
    return formats[isMidnight(ms) ? 'date' : 'minute'].format(ms);
}


export function spanTime(from, to) {
    return formats[(to - from) % MINUTE ? 'year' : 'span']
        .formatRange(from, to);
}


export function relativeTime(ms) {
    const off = ms - Date.now();
    /** @type {[Intl.RelativeTimeFormatUnit, number][]} */
    const units = [['day', DAY], ['hour', HOUR], ['minute', MINUTE],
        ['second', 1000]];
    const [unit, size] = units.find(([, one]) => Math.abs(off) >= one)
        ?? units[3];

    return formats.relative.format(Math.round(off / size), unit);
}


export function setTime(node, ms) {
    node.textContent = shortTime(ms);
    node.dateTime = iso(ms);
    node.title = `${spokenTime(ms)} · ${iso(ms)}`;
}


export function timeNode(ms) {
    const node = h('time');
    setTime(node, ms);
    return node;
}


// the first moment after this one, which is not in a stretch, where that is a
// round one
export function edge(after) {
    const ms = Number(after);

    return (ms + 1) % 1000 ? ms : ms + 1;
}


// when a day begins, so many days from today
export function dayFrom(days) {
    const date = new Date();

    date.setHours(0, 0, 0, 0);
    date.setDate(date.getDate() + days);
    return +date;
}


// ... and a week, as people count it there
function weekFrom(weeks) {
    const {firstDay} = region.getWeekInfo?.() ?? region.weekInfo
        ?? {firstDay: 1};
    const day = (new Date().getDay() - firstDay + 7) % 7;

    return dayFrom(weeks * 7 - day);
}


// the whole of such a day, or of such a week, as filters have it
export function daySpan(days) {
    return spanOf(dayFrom, days);
}


export function weekSpan(weeks) {
    return spanOf(weekFrom, weeks);
}


function spanOf(from, by) {
    return {after: String(from(by) - 1),
        before: by < 0 ? String(from(by + 1)) : ''};
}


export function dayName(days) {
    return capital(formats.relative.format(days, 'day'));
}


export function weekName(weeks) {
    return capital(formats.relative.format(weeks, 'week'));
}


function capital(text) {
    return text.charAt(0).toLocaleUpperCase(locale) + text.slice(1);
}


// the value of an input for date and time, and back
export function toInput(ms) {
    if (!Number.isFinite(ms)) {
        return '';
    }
    return iso(ms - new Date(ms).getTimezoneOffset() * MINUTE).slice(0, 19);
}


export function fromInput(value) {
    return value ? new Date(value).getTime() : null;
}
