// The log types in the order of their numbers, as conf/log-types.tsv has them.

import {t} from './texts.js';

const members = 'categoryMembers';
const text = 'categoryText';
const voice = 'categoryVoice';
const server = 'categoryServer';
const roles = 'categoryRoles';
const channels = 'categoryChannels';
const service = 'categoryService';
const actions = 'categoryActions';
const modlog = 'categoryModlog';

// of a message: what is new, changed, or gone
const COLORS = {new: 0x57f287, changed: 0xe67e22, gone: 0xed4245,
    other: 0x95a5a6};

// {id, category, title, sentence, kind, route, color, fields}; what a field
// holds, where it is not what its name says
const TYPES = [
    // made by util/types: rows
    [text, 'attachmentDelete', 'gone category_files',
        'target=author executor channel content messages'],
    [members, 'memberJoin', 'new category_members',
        'target=member count=members name=invite value=via'],
    [members, 'memberLeave', 'gone category_members',
        'target=member count=members changes'],
    [text, 'messageDeleteBulk', 'gone category_text',
        'executor channel count=messages messages'],
    [text, 'threadMessageDelete', 'gone category_text',
        'target=author executor channel content messages'],
    [text, 'messageDelete', 'gone category_text',
        'target=author executor channel content messages'],
    [text, 'threadMessageEdit', 'changed category_text',
        'executor=author target=author channel content=before '
        + 'contentAfter=after messages'],
    [text, 'messageEdit', 'changed category_text',
        'executor=author target=author channel content=before '
        + 'contentAfter=after messages'],
    [voice, 'streamStart', 'new category_voice',
        'executor=member channel'],
    [voice, 'streamEnd', 'gone category_voice',
        'executor=member channel'],
    [text, 'threadCreate', 'new category_text',
        'executor channel=thread'],
    [text, 'threadDelete', 'gone category_text',
        'executor channel=thread changes'],
    [voice, 'videoStart', 'new category_voice',
        'executor=member channel'],
    [voice, 'videoStop', 'gone category_voice',
        'executor=member channel'],
    [voice, 'voiceMoved', 'changed category_voice',
        'executor=moderator target=member channel name=from '
        + 'count=members'],
    [voice, 'voiceSwitch', 'changed category_voice',
        'executor=member channel name=from'],
    [voice, 'serverDeafen', 'gone category_voice',
        'executor=moderator target=member channel'],
    [voice, 'voiceJoin', 'new category_voice',
        'executor=member channel'],
    [voice, 'voiceLeave', 'gone category_voice',
        'executor=member channel'],
    [voice, 'serverMute', 'gone category_voice',
        'executor=moderator target=member channel'],
    [voice, 'serverUndeafen', 'new category_voice',
        'executor=moderator target=member channel'],
    [voice, 'serverUnmute', 'new category_voice',
        'executor=moderator target=member channel'],
    [voice, 'voiceDisconnected', 'gone category_voice',
        'executor=moderator target=member channel count=members'],
    [actions, 'inviteCreate', 'new category_actions',
        'executor name=invite channel until count=uses changes'],
    [actions, 'inviteDelete', 'gone category_actions',
        'executor name=invite channel count=uses changes'],
    [members, 'nicknameUpdate', 'changed category_members',
        'executor target=member changes name=before value=after'],
    [members, 'serverAvatarUpdate', 'changed category_members',
        'target=member image'],
    [channels, 'channelCreate', 'new category_channels',
        'executor channel changes'],
    [channels, 'channelDelete', 'gone category_channels',
        'executor channel changes'],
    [channels, 'channelUpdate', 'changed category_channels',
        'executor channel changes action value'],
    [server, 'serverUpdate', 'changed category_server',
        'executor changes action image'],
    [roles, 'roleCreate', 'new category_roles',
        'executor role role_id changes'],
    [roles, 'roleDelete', 'gone category_roles',
        'executor role role_id changes'],
    [roles, 'roleUpdate', 'changed category_roles',
        'executor role role_id changes'],
    [text, 'messagePin', 'new category_text',
        'executor target=author channel content messages'],
    [text, 'messageUnpin', 'gone category_text',
        'executor target=author channel content messages'],
    [actions, 'emojiCreate', 'new category_actions',
        'executor emoji'],
    [actions, 'emojiDelete', 'gone category_actions',
        'executor emoji'],
    [actions, 'emojiUpdate', 'changed category_actions',
        'executor emoji changes'],
    [modlog, 'ban', 'gone category_modlog',
        'executor=moderator target=member reason'],
    [modlog, 'timeout', 'gone category_modlog',
        'executor=moderator target=member until reason'],
    [modlog, 'kick', 'gone category_modlog',
        'executor=moderator target=member reason'],
    [modlog, 'timeoutRemove', 'new category_modlog',
        'executor=moderator target=member reason'],
    [modlog, 'unban', 'new category_modlog',
        'executor=moderator target=member reason'],
    [members, 'roleGiven', 'new category_members',
        'executor target=member role role_id changes'],
    [members, 'roleTaken', 'gone category_members',
        'executor target=member role role_id changes'],
    [members, 'membersPruned', 'gone category_members',
        'executor=moderator count=members reason'],
    [channels, 'channelPermsAdd', 'new category_channels',
        'executor channel target=member role role_id changes'],
    [channels, 'channelPermsRemove', 'gone category_channels',
        'executor channel target=member role role_id changes'],
    [channels, 'channelPermsUpdate', 'changed category_channels',
        'executor channel target=member role role_id changes'],
    [roles, 'rolePermsUpdate', 'changed category_roles',
        'executor role role_id changes'],
    [text, 'reactionRemove', 'gone category_text',
        'executor target=member emoji channel messages'],
    [server, 'serverIconUpdate', 'changed category_server',
        'executor image'],
    [roles, 'roleIconUpdate', 'changed category_roles',
        'executor role role_id image changes'],
    [voice, 'voiceStatusUpdate', 'changed category_voice',
        'executor channel value=status changes'],
    [server, 'boostAdd', 'new category_server',
        'target=member count=boosts'],
    [server, 'boostRemove', 'gone category_server',
        'target=member count=boosts'],
    [members, 'botAdd', 'new category_members',
        'executor target=member'],
    [members, 'botRemove', 'gone category_members',
        'executor target=member'],
    [voice, 'stageStart', 'new category_voice',
        'executor channel name=topic'],
    [voice, 'stageEnd', 'gone category_voice',
        'executor channel name=topic'],
    [voice, 'stageUpdate', 'changed category_voice',
        'executor channel name=topic changes'],
    [voice, 'stageSpeakerStart', 'new category_voice',
        'executor=member channel'],
    [voice, 'stageSpeakerInvite', 'new category_voice',
        'executor=moderator target=member channel'],
    [voice, 'stageSpeakerStop', 'gone category_voice',
        'executor=member channel'],
    [actions, 'eventCreate', 'new category_actions',
        'executor name=event channel value=place content changes'],
    [actions, 'eventDelete', 'gone category_actions',
        'executor name=event changes'],
    [actions, 'eventUpdate', 'changed category_actions',
        'executor name=event changes image'],
    [service, 'logChannelUpdate', 'changed category_service',
        'executor action changes'],
    [service, 'ignoreUpdate', 'changed category_service',
        'executor action name=list value reason changes'],
    [service, 'languageUpdate', 'changed category_service',
        'executor action changes'],
    [service, 'tokenRevoke', 'gone category_service',
        'executor action name=token'],
    [service, 'tokenCreate', 'new category_service',
        'executor action name=token'],
    [service, 'tagDelete', 'gone category_service',
        'executor action name=tag content=before changes'],
    [service, 'tagCreate', 'new category_service',
        'executor action name=tag contentAfter=after changes'],
    [service, 'tagUpdate', 'changed category_service',
        'executor action name=tag content=before contentAfter=after '
        + 'changes'],
    [service, 'logOptionsUpdate', 'changed category_service',
        'executor action name changes'],
    [service, 'logTypeUpdate', 'changed category_service',
        'executor action name=type changes'],
    [service, 'configReset', 'gone category_service',
        'executor action'],
    [channels, 'webhookCreate', 'new category_channels',
        'executor name=webhook channel'],
    [channels, 'webhookDelete', 'gone category_channels',
        'executor name=webhook channel'],
    [channels, 'webhookUpdate', 'changed category_channels',
        'executor name=webhook channel changes'],
    [channels, 'webhookAvatarUpdate', 'changed category_channels',
        'executor name=webhook channel image'],
    [channels, 'channelFollow', 'new category_channels',
        'executor channel name=from'],
    [channels, 'channelUnfollow', 'gone category_channels',
        'executor channel name=from'],
    [channels, 'channelFollowUpdate', 'changed category_channels',
        'executor channel name=from changes'],
    [text, 'pollDelete', 'gone category_text',
        'target=author executor channel content messages'],
    [text, 'threadUpdate', 'changed category_text',
        'executor channel=thread changes'],
    [voice, 'voiceBundle', 'other category_voice',
        'executor=member channel count content'],
    [server, 'boostTierChange', 'changed category_server',
        'value=level changes count=boosts'],
    [actions, 'stickerCreate', 'new category_actions',
        'executor name=sticker changes'],
    [actions, 'stickerDelete', 'gone category_actions',
        'executor name=sticker changes'],
    [actions, 'stickerUpdate', 'changed category_actions',
        'executor name=sticker changes'],
    [actions, 'soundCreate', 'new category_actions',
        'executor name=sound emoji'],
    [actions, 'soundDelete', 'gone category_actions',
        'executor name=sound emoji'],
    [actions, 'soundUpdate', 'changed category_actions',
        'executor name=sound emoji changes'],
    [server, 'automodRuleCreate', 'new category_server',
        'executor name=rule changes'],
    [server, 'automodRuleDelete', 'gone category_server',
        'executor name=rule changes'],
    [server, 'automodRuleUpdate', 'changed category_server',
        'executor name=rule changes'],
    [service, 'accessUpdate', 'changed category_service',
        'executor action target=member name=access changes'],
    [text, 'reactionRemoveBundle', 'gone category_text',
        'executor target=member channel count content messages'],
    [service, 'ruleAction', 'other category_service',
        'target=member name=rule action channel content value=found'],
    // up to here
].map(([category, key, route, fields], id) => {
    const [kind, files] = route.split(' ');

    return {id, category, title: t(key), sentence: t(`${key}.sentence`), kind,
        route: files, color: COLORS[kind],
        fields: Object.fromEntries(fields.split(' ')
            .map((field) => field.split('='))
            .map(([field, holds = field]) => [field, holds]))};
});


// a number's type; of one that is not known there is little to say
export function typeOf(id) {
    return TYPES[id] ?? {id, category: service, title: t('types.unknown', {id}),
        kind: 'other', color: COLORS.other, fields: {}};
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

    return {channel: channels[from] ?? null, from};
}
