// @ts-check
// The log types in the order of their numbers, as log-types.tsv has them.

import {t, types} from './texts.js';

// of a message: what is new, changed, or gone
const COLORS = {new: 0x57f287, changed: 0xe67e22, gone: 0xed4245,
    other: 0x95a5a6};

// {id, category, title, sentence, kind, ofChannel, route, color, fields}; what
// a field holds, where it is not what its name says
const TYPES = (await types).map(({key, category, route, ...type}, id) => {
    const [kind, ...marks] = type.kind.split(' ');

    return {id, category, title: t(key), sentence: t(`${key}.sentence`), kind,
        ofChannel: marks.includes('channel'), route, color: COLORS[kind],
        fields: Object.fromEntries(type.fields.split('; ')
            .map((field) => field.replace(/:.*/, '').split('='))
            .map(([field, holds = field]) => [field, holds]))};
});

export const RULE = 101;

export const ALERT = {...TYPES[RULE], title: t('alert'),
    fields: {target: 'member'}};


// a number's type; of one that is not known there is little to say
export function typeOf(id) {
    return TYPES[id] ?? {id, category: 'categoryService',
        title: t('types.unknown', {id}), kind: 'other', color: COLORS.other,
        fields: {}};
}


// ... of an entry: what an alert of the server says is of the type of rules,
// whose IDs are others than nobody's
export function typeOfEntry({type, action, executor}) {
    return type === RULE && action === 'alert' && executor?.id === '0'
        ? ALERT : typeOf(type);
}


// numbers as text: all that are not among these
export function othersThan(types) {
    return TYPES.map(({id}) => String(id)).filter((id) => !types.includes(id));
}


export function typesOf(category) {
    return TYPES.filter((type) => type.category === category);
}


// The channel that entries of a type go to which has none of its own, as the
// channels are set, and the field that says so: {channel, from}.
export function channelOf(id, channels) {
    const {route} = TYPES[id];
    const from = [route, ...route === 'category_files' ? ['category_text']
        : [], 'main_channel'].find((field) => channels[field]);

    return {channel: channels[from ?? ''] ?? null, from};
}
