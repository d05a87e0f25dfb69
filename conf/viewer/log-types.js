// The log types in the order of their numbers, as conf/log-types.tsv has them.

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
    [text, 'Attachment deleted',
        '{executor} deleted attachments[ of {target}][ in {channel}] '
        + '| Attachments[ of {target}] were deleted[ in {channel}]',
        'gone category_files',
        'target=author executor channel content messages'],
    [members, 'Member joined',
        '{target} joined the server',
        'new category_members',
        'target=member count=members name=invite value=via'],
    [members, 'Member left',
        '{target} left the server',
        'gone category_members',
        'target=member count=members changes'],
    [text, 'Messages bulk deleted',
        '{executor} deleted several messages[ in {channel}][ '
        + '({count})] | Several messages were deleted[ in {channel}][ '
        + '({count})]',
        'gone category_text',
        'executor channel count=messages messages'],
    [text, 'Thread message deleted',
        '{executor} deleted a message[ by {target}][ in {channel}] | '
        + 'A message[ by {target}] was deleted[ in {channel}]',
        'gone category_text',
        'target=author executor channel content messages'],
    [text, 'Message deleted',
        '{executor} deleted a message[ by {target}][ in {channel}] | '
        + 'A message[ by {target}] was deleted[ in {channel}]',
        'gone category_text',
        'target=author executor channel content messages'],
    [text, 'Thread message edited',
        '{executor} edited a message[ in {channel}] | A message[ by '
        + '{target}] was edited[ in {channel}]',
        'changed category_text',
        'executor=author target=author channel content=before '
        + 'contentAfter=after messages'],
    [text, 'Message edited',
        '{executor} edited a message[ in {channel}] | A message[ by '
        + '{target}] was edited[ in {channel}]',
        'changed category_text',
        'executor=author target=author channel content=before '
        + 'contentAfter=after messages'],
    [voice, 'Stream started',
        '{executor} started streaming[ in {channel}]',
        'new category_voice',
        'executor=member channel'],
    [voice, 'Stream ended',
        '{executor} stopped streaming[ in {channel}]',
        'gone category_voice',
        'executor=member channel'],
    [text, 'Thread created',
        '{executor} created the thread {channel} | The thread '
        + '{channel} was created',
        'new category_text',
        'executor channel=thread'],
    [text, 'Thread deleted',
        '{executor} deleted the thread {channel} | The thread '
        + '{channel} was deleted',
        'gone category_text',
        'executor channel=thread changes'],
    [voice, 'Camera turned on',
        '{executor} turned the camera on[ in {channel}]',
        'new category_voice',
        'executor=member channel'],
    [voice, 'Camera turned off',
        '{executor} turned the camera off[ in {channel}]',
        'gone category_voice',
        'executor=member channel'],
    [voice, 'Member moved to another voice channel',
        '{executor} moved {target}[ from {name}][ to {channel}] | '
        + '{executor} moved members[ to {channel}][ ({count})] | '
        + '{target} was moved[ from {name}][ to {channel}]',
        'changed category_voice',
        'executor=moderator target=member channel name=from '
        + 'count=members'],
    [voice, 'Member switched voice channel',
        '{executor} switched[ from {name}] to {channel}',
        'changed category_voice',
        'executor=member channel name=from'],
    [voice, 'Member deafened',
        '{executor} deafened {target}[ in {channel}] | {target} was '
        + 'deafened[ in {channel}]',
        'gone category_voice',
        'executor=moderator target=member channel'],
    [voice, 'Member joined voice channel',
        '{executor} joined {channel}',
        'new category_voice',
        'executor=member channel'],
    [voice, 'Member left voice channel',
        '{executor} left {channel}',
        'gone category_voice',
        'executor=member channel'],
    [voice, 'Member muted',
        '{executor} muted {target}[ in {channel}] | {target} was '
        + 'muted[ in {channel}]',
        'gone category_voice',
        'executor=moderator target=member channel'],
    [voice, 'Member undeafened',
        '{executor} undeafened {target}[ in {channel}] | {target} was '
        + 'undeafened[ in {channel}]',
        'new category_voice',
        'executor=moderator target=member channel'],
    [voice, 'Member unmuted',
        '{executor} unmuted {target}[ in {channel}] | {target} was '
        + 'unmuted[ in {channel}]',
        'new category_voice',
        'executor=moderator target=member channel'],
    [voice, 'Member disconnected from voice',
        '{executor} disconnected {target}[ from {channel}] | '
        + '{executor} disconnected members from voice[ ({count})] | '
        + '{target} was disconnected[ from {channel}]',
        'gone category_voice',
        'executor=moderator target=member channel count=members'],
    [actions, 'Invite created',
        '{executor} created the invite {name}[ to {channel}] | The '
        + 'invite {name}[ to {channel}] was created',
        'new category_actions',
        'executor name=invite channel until count=uses changes'],
    [actions, 'Invite deleted',
        '{executor} deleted the invite {name}[ to {channel}] | The '
        + 'invite {name}[ to {channel}] was deleted',
        'gone category_actions',
        'executor name=invite channel count=uses changes'],
    [members, 'Nickname changed',
        '{executor} changed the nickname of {target} | {executor} '
        + 'changed their nickname | The nickname of {target} was '
        + 'changed',
        'changed category_members',
        'executor target=member changes name=before value=after'],
    [members, 'Server avatar changed',
        '{target} changed their server avatar',
        'changed category_members',
        'target=member image'],
    [channels, 'Channel created',
        '{executor} created the channel {channel} | The channel '
        + '{channel} was created',
        'new category_channels',
        'executor channel changes'],
    [channels, 'Channel deleted',
        '{executor} deleted the channel {channel} | The channel '
        + '{channel} was deleted',
        'gone category_channels',
        'executor channel changes'],
    [channels, 'Channel changed',
        '{executor} changed the channel {channel} | The channel '
        + '{channel} was changed',
        'changed category_channels',
        'executor channel changes action value'],
    [server, 'Server changed',
        '{executor} changed the server settings | The server settings '
        + 'were changed',
        'changed category_server',
        'executor changes action image'],
    [roles, 'Role created',
        '{executor} created the role {role} | The role {role} was '
        + 'created',
        'new category_roles',
        'executor role role_id changes'],
    [roles, 'Role deleted',
        '{executor} deleted the role {role} | The role {role} was '
        + 'deleted',
        'gone category_roles',
        'executor role role_id changes'],
    [roles, 'Role changed',
        '{executor} changed the role {role} | The role {role} was '
        + 'changed',
        'changed category_roles',
        'executor role role_id changes'],
    [text, 'Message pinned',
        '{executor} pinned a message[ by {target}][ in {channel}] | A '
        + 'message[ by {target}] was pinned[ in {channel}]',
        'new category_text',
        'executor target=author channel content messages'],
    [text, 'Message unpinned',
        '{executor} unpinned a message[ by {target}][ in {channel}] | '
        + 'A message[ by {target}] was unpinned[ in {channel}]',
        'gone category_text',
        'executor target=author channel content messages'],
    [actions, 'Emoji created',
        '{executor} created the emoji {emoji} | The emoji {emoji} was '
        + 'created',
        'new category_actions',
        'executor emoji'],
    [actions, 'Emoji deleted',
        '{executor} deleted the emoji {emoji} | The emoji {emoji} was '
        + 'deleted',
        'gone category_actions',
        'executor emoji'],
    [actions, 'Emoji changed',
        '{executor} changed the emoji {emoji} | The emoji {emoji} was '
        + 'changed',
        'changed category_actions',
        'executor emoji changes'],
    [modlog, 'Member banned',
        '{executor} banned {target} | {target} was banned',
        'gone category_modlog',
        'executor=moderator target=member reason'],
    [modlog, 'Member timed out',
        '{executor} timed out {target}[ until {until}] | {target} was '
        + 'timed out[ until {until}]',
        'gone category_modlog',
        'executor=moderator target=member until reason'],
    [modlog, 'Member kicked',
        '{executor} kicked {target} | {target} was kicked',
        'gone category_modlog',
        'executor=moderator target=member reason'],
    [modlog, 'Timeout removed',
        '{executor} lifted the timeout of {target} | The timeout of '
        + '{target} was lifted',
        'new category_modlog',
        'executor=moderator target=member reason'],
    [modlog, 'Member unbanned',
        '{executor} unbanned {target} | {target} was unbanned',
        'new category_modlog',
        'executor=moderator target=member reason'],
    [members, 'Role given',
        '{executor} gave {target} the role {role} | {executor} gave '
        + '{target} roles | {target} was given the role {role} | '
        + '{target} was given roles',
        'new category_members',
        'executor target=member role role_id changes'],
    [members, 'Role taken',
        '{executor} took the role {role} from {target} | {executor} '
        + 'took roles from {target} | {target} lost the role {role} | '
        + '{target} lost roles',
        'gone category_members',
        'executor target=member role role_id changes'],
    [members, 'Members pruned',
        '{executor} pruned inactive members[ ({count})] | Inactive '
        + 'members were pruned[ ({count})]',
        'gone category_members',
        'executor=moderator count=members reason'],
    [channels, 'Channel permissions added',
        '{executor} added permissions[ for {target}][ for the role '
        + '{role}][ in {channel}] | Permissions[ for {target}][ for the '
        + 'role {role}] were added[ in {channel}]',
        'new category_channels',
        'executor channel target=member role role_id changes'],
    [channels, 'Channel permissions removed',
        '{executor} removed permissions[ for {target}][ for the role '
        + '{role}][ in {channel}] | Permissions[ for {target}][ for the '
        + 'role {role}] were removed[ in {channel}]',
        'gone category_channels',
        'executor channel target=member role role_id changes'],
    [channels, 'Channel permissions changed',
        '{executor} changed permissions[ for {target}][ for the role '
        + '{role}][ in {channel}] | Permissions[ for {target}][ for the '
        + 'role {role}] were changed[ in {channel}]',
        'changed category_channels',
        'executor channel target=member role role_id changes'],
    [roles, 'Role permissions changed',
        '{executor} changed the permissions of the role {role} | The '
        + 'permissions of the role {role} were changed',
        'changed category_roles',
        'executor role role_id changes'],
    [text, 'Reaction removed',
        '{executor} removed the reaction {emoji}[ of {target}][ in '
        + '{channel}] | The reaction {emoji}[ of {target}] was removed[ '
        + 'in {channel}]',
        'gone category_text',
        'executor target=member emoji channel messages'],
    [server, 'Server icon changed',
        '{executor} changed the server icon | The server icon was '
        + 'changed',
        'changed category_server',
        'executor image'],
    [roles, 'Role icon changed',
        '{executor} changed the icon of the role {role} | The icon of '
        + 'the role {role} was changed',
        'changed category_roles',
        'executor role role_id image changes'],
    [voice, 'Voice channel status changed',
        '{executor} changed the status of {channel} | The status of '
        + '{channel} was changed',
        'changed category_voice',
        'executor channel value=status changes'],
    [server, 'Server boosted',
        '{target} boosted the server',
        'new category_server',
        'target=member count=boosts'],
    [server, 'Boost removed',
        '{target} stopped boosting the server',
        'gone category_server',
        'target=member count=boosts'],
    [members, 'Bot added',
        '{executor} added the bot {target} | The bot {target} was '
        + 'added',
        'new category_members',
        'executor target=member'],
    [members, 'Bot removed',
        '{executor} removed the bot {target} | The bot {target} was '
        + 'removed',
        'gone category_members',
        'executor target=member'],
    [voice, 'Stage started',
        '{executor} started a stage[ in {channel}][: {name}] | A '
        + 'stage was started[ in {channel}][: {name}]',
        'new category_voice',
        'executor channel name=topic'],
    [voice, 'Stage ended',
        '{executor} ended the stage[ in {channel}][: {name}] | The '
        + 'stage[ in {channel}] was ended[: {name}]',
        'gone category_voice',
        'executor channel name=topic'],
    [voice, 'Stage changed',
        '{executor} changed the stage[ in {channel}][: {name}] | The '
        + 'stage[ in {channel}] was changed[: {name}]',
        'changed category_voice',
        'executor channel name=topic changes'],
    [voice, 'Stage speaker started',
        '{executor} became a speaker[ in {channel}]',
        'new category_voice',
        'executor=member channel'],
    [voice, 'Stage speaker invited',
        '{executor} invited {target} to speak[ in {channel}] | '
        + '{target} was invited to speak[ in {channel}]',
        'new category_voice',
        'executor=moderator target=member channel'],
    [voice, 'Stage speaker stopped',
        '{executor} stopped speaking[ in {channel}]',
        'gone category_voice',
        'executor=member channel'],
    [actions, 'Event created',
        '{executor} created the event {name} | The event {name} was '
        + 'created',
        'new category_actions',
        'executor name=event channel value=place content changes'],
    [actions, 'Event deleted',
        '{executor} deleted the event {name} | The event {name} was '
        + 'deleted',
        'gone category_actions',
        'executor name=event changes'],
    [actions, 'Event changed',
        '{executor} changed the event {name} | The event {name} was '
        + 'changed',
        'changed category_actions',
        'executor name=event changes image'],
    [service, 'Log channel changed',
        '{executor} changed the log channels | The log channels were '
        + 'changed',
        'changed category_service',
        'executor action changes'],
    [service, 'Ignore options changed',
        '{executor} changed the ignore options | The ignore options '
        + 'were changed',
        'changed category_service',
        'executor action name=list value reason changes'],
    [service, 'Language changed',
        '{executor} changed the language | The language was changed',
        'changed category_service',
        'executor action changes'],
    [service, 'Token revoked',
        '{executor} revoked the token {name} | The token {name} was '
        + 'revoked',
        'gone category_service',
        'executor action name=token'],
    [service, 'Token created',
        '{executor} created the token {name} | The token {name} was '
        + 'created',
        'new category_service',
        'executor action name=token'],
    [service, 'Tag deleted',
        '{executor} deleted the tag {name} | The tag {name} was '
        + 'deleted',
        'gone category_service',
        'executor action name=tag content=before changes'],
    [service, 'Tag created',
        '{executor} created the tag {name} | The tag {name} was '
        + 'created',
        'new category_service',
        'executor action name=tag contentAfter=after changes'],
    [service, 'Tag changed',
        '{executor} changed the tag {name} | The tag {name} was '
        + 'changed',
        'changed category_service',
        'executor action name=tag content=before contentAfter=after '
        + 'changes'],
    [service, 'Logging options changed',
        '{executor} changed the logging options | The logging options '
        + 'were changed',
        'changed category_service',
        'executor action name changes'],
    [service, 'Log type settings changed',
        '{executor} changed the settings of the log type {name} | The '
        + 'settings of the log type {name} were changed',
        'changed category_service',
        'executor action name=type changes'],
    [service, 'Configuration reset',
        '{executor} reset the configuration | The configuration was '
        + 'reset',
        'gone category_service',
        'executor action'],
    [channels, 'Webhook created',
        '{executor} created the webhook {name}[ in {channel}] | The '
        + 'webhook {name} was created[ in {channel}]',
        'new category_channels',
        'executor name=webhook channel'],
    [channels, 'Webhook deleted',
        '{executor} deleted the webhook {name}[ in {channel}] | The '
        + 'webhook {name} was deleted[ in {channel}]',
        'gone category_channels',
        'executor name=webhook channel'],
    [channels, 'Webhook changed',
        '{executor} changed the webhook {name}[ in {channel}] | The '
        + 'webhook {name} was changed[ in {channel}]',
        'changed category_channels',
        'executor name=webhook channel changes'],
    [channels, 'Webhook avatar changed',
        '{executor} changed the avatar of the webhook {name} | The '
        + 'avatar of the webhook {name} was changed',
        'changed category_channels',
        'executor name=webhook channel image'],
    [channels, 'Announcement channel followed',
        '{executor} made {channel} follow {name} | {channel} follows '
        + '{name} now',
        'new category_channels',
        'executor channel name=from'],
    [channels, 'Announcement channel unfollowed',
        '{executor} made {channel} stop following {name} | {channel} '
        + 'no longer follows {name}',
        'gone category_channels',
        'executor channel name=from'],
    [channels, 'Followed channel changed',
        '{executor} changed how {channel} follows {name} | It was '
        + 'changed how {channel} follows {name}',
        'changed category_channels',
        'executor channel name=from changes'],
    [text, 'Poll deleted',
        '{executor} deleted a poll[ by {target}][ in {channel}] | A '
        + 'poll[ by {target}] was deleted[ in {channel}]',
        'gone category_text',
        'target=author executor channel content messages'],
    [text, 'Thread changed',
        '{executor} changed the thread {channel} | The thread '
        + '{channel} was changed',
        'changed category_text',
        'executor channel=thread changes'],
    [voice, 'Voice events',
        'Several voice events[ of {executor}][ in {channel}][ '
        + '({count})]',
        'other category_voice',
        'executor=member channel count content'],
    [server, 'Boost level changed',
        'The boost level of the server is {value} now | The boost '
        + 'level of the server changed',
        'changed category_server',
        'value=level changes count=boosts'],
    [actions, 'Sticker created',
        '{executor} created the sticker {name} | The sticker {name} '
        + 'was created',
        'new category_actions',
        'executor name=sticker changes'],
    [actions, 'Sticker deleted',
        '{executor} deleted the sticker {name} | The sticker {name} '
        + 'was deleted',
        'gone category_actions',
        'executor name=sticker changes'],
    [actions, 'Sticker changed',
        '{executor} changed the sticker {name} | The sticker {name} '
        + 'was changed',
        'changed category_actions',
        'executor name=sticker changes'],
    [actions, 'Sound created',
        '{executor} added the sound {name} | The sound {name} was '
        + 'added',
        'new category_actions',
        'executor name=sound emoji'],
    [actions, 'Sound deleted',
        '{executor} deleted the sound {name} | The sound {name} was '
        + 'deleted',
        'gone category_actions',
        'executor name=sound emoji'],
    [actions, 'Sound changed',
        '{executor} changed the sound {name} | The sound {name} was '
        + 'changed',
        'changed category_actions',
        'executor name=sound emoji changes'],
    [server, 'Auto-moderation rule created',
        '{executor} created the auto-moderation rule {name} | The '
        + 'auto-moderation rule {name} was created',
        'new category_server',
        'executor name=rule changes'],
    [server, 'Auto-moderation rule deleted',
        '{executor} deleted the auto-moderation rule {name} | The '
        + 'auto-moderation rule {name} was deleted',
        'gone category_server',
        'executor name=rule changes'],
    [server, 'Auto-moderation rule changed',
        '{executor} changed the auto-moderation rule {name} | The '
        + 'auto-moderation rule {name} was changed',
        'changed category_server',
        'executor name=rule changes'],
    [service, 'Dashboard access changed',
        '{executor} changed the dashboard access of {target} | The '
        + 'dashboard access of {target} was changed',
        'changed category_service',
        'executor action target=member name=access changes'],
    [text, 'Reactions removed',
        '{executor} removed reactions[ of {target}][ in {channel}][ '
        + '({count})] | Reactions[ of {target}] were removed[ in '
        + '{channel}][ ({count})]',
        'gone category_text',
        'executor target=member channel count content messages'],
    [service, 'Automation rule acted',
        'The rule {name} acted[ on {target}][ in {channel}] | An '
        + 'automation rule acted[ on {target}][ in {channel}]',
        'other category_service',
        'target=member name=rule action channel content value=found'],
    // up to here
].map(([category, title, sentence, route, fields], id) => {
    const [kind, files] = route.split(' ');

    return {id, category, title, sentence, kind, route: files,
        color: COLORS[kind], fields: Object.fromEntries(fields.split(' ')
            .map((field) => field.split('='))
            .map(([field, holds = field]) => [field, holds]))};
});


// a number's type; of one that is not known there is little to say
export function typeOf(id) {
    return TYPES[id] ?? {id, category: service, title: `Log type ${id}`,
        kind: 'other', color: COLORS.other, fields: {}};
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
