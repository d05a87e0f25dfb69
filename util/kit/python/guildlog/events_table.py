"""What bots make of the events of the platform, as conf/events.tsv has it: of
which of them, the number of the log type, and what its fields hold."""

EVENTS = {
    # made by util/types: events
    'audit 1': [
        ('icon_hash differs', 52, 'image=icons/{guild_id}/{icon_hash}'),
        ('otherwise', 30, 'changes'),
    ],
    'audit 10': [
        ('', 27, 'channel=target_id; channel.name=change.name; changes'),
    ],
    'audit 100': [
        ('', 65, 'name=change.name; channel=change.channel_id; '
        'value=change.location; content=change.description; '
        'changes=scheduled_start_time, scheduled_end_time'),
    ],
    'audit 101': [
        ('', 67, 'name=change.name, @target_id.name; '
        'image=guild-events/{target_id}/{image_hash}; changes'),
    ],
    'audit 102': [
        ('', 66, 'name=change.name; changes'),
    ],
    'audit 11': [
        ('', 29, 'channel=target_id; channel.name=change.name; changes'),
    ],
    'audit 110': [
        ('', 10, 'channel=target_id; channel.name=change.name'),
    ],
    'audit 111': [
        ('', 87, 'channel=target_id; channel.name=change.name; changes'),
    ],
    'audit 112': [
        ('', 11, 'channel=target_id; channel.name=change.name; changes'),
    ],
    'audit 12': [
        ('', 28, 'channel=target_id; channel.name=change.name; changes'),
    ],
    'audit 13': [
        ('options.type is 1', 47, 'channel=target_id; target=options.id; changes'),
        ('otherwise', 47, 'channel=target_id; role=options.role_name; '
        'role_id=options.id; changes'),
    ],
    'audit 130': [
        ('', 93, 'name=change.name; emoji.id=change.emoji_id; '
        'emoji.name=change.emoji_name'),
    ],
    'audit 131': [
        ('', 95, 'name=change.name, @target_id.name; emoji.id=change.emoji_id; '
        'emoji.name=change.emoji_name; changes'),
    ],
    'audit 132': [
        ('', 94, 'name=change.name; emoji.id=change.emoji_id; '
        'emoji.name=change.emoji_name'),
    ],
    'audit 14': [
        ('options.type is 1', 49, 'channel=target_id; target=options.id; changes'),
        ('otherwise', 49, 'channel=target_id; role=options.role_name; '
        'role_id=options.id; changes'),
    ],
    'audit 140': [
        ('', 96, 'name=change.name; changes'),
    ],
    'audit 141': [
        ('', 98, 'name=change.name, @target_id.name; changes'),
    ],
    'audit 142': [
        ('', 97, 'name=change.name; changes'),
    ],
    'audit 145': [
        ('', 40, 'target=target_id'),
    ],
    'audit 146': [
        ('', 101, 'target=target_id; name=options.auto_moderation_rule_name; '
        'action=\'quarantined the member\''),
    ],
    'audit 15': [
        ('options.type is 1', 48, 'channel=target_id; target=options.id; changes'),
        ('otherwise', 48, 'channel=target_id; role=options.role_name; '
        'role_id=options.id; changes'),
    ],
    'audit 163': [
        ('', 30, 'action=\'onboarding\'; changes'),
    ],
    'audit 164': [
        ('', 30, 'action=\'onboarding\'; changes'),
    ],
    'audit 165': [
        ('', 30, 'action=\'onboarding\'; changes'),
    ],
    'audit 166': [
        ('', 30, 'action=\'onboarding\'; changes'),
    ],
    'audit 167': [
        ('', 30, 'action=\'onboarding\'; changes'),
    ],
    'audit 190': [
        ('', 30, 'action=\'server guide\'; changes'),
    ],
    'audit 191': [
        ('', 30, 'action=\'server guide\'; changes'),
    ],
    'audit 192': [
        ('', 54, 'channel=target_id; value=options.status, change.status'),
    ],
    'audit 193': [
        ('', 54, 'channel=target_id'),
    ],
    'audit 20': [
        ('', 41, 'target=target_id'),
    ],
    'audit 21': [
        ('', 46, 'count=options.members_removed'),
    ],
    'audit 22': [
        ('', 39, 'target=target_id'),
    ],
    'audit 23': [
        ('', 43, 'target=target_id'),
    ],
    'audit 24': [
        ('nick differs', 25, 'target=target_id; changes'),
        ('communication_disabled_until goes', 42, 'target=target_id'),
        ('communication_disabled_until differs', 40, 'target=target_id; until=change.communication_disabled_until'),
        ('deaf comes', 16, 'target=target_id'),
        ('deaf goes', 20, 'target=target_id'),
        ('mute comes', 19, 'target=target_id'),
        ('mute goes', 21, 'target=target_id'),
    ],
    'audit 25': [
        ('$add comes', 44, 'target=target_id; role=change.$add; changes'),
        ('$remove comes', 45, 'target=target_id; role=change.$remove; changes'),
    ],
    'audit 26': [
        ('', 14, 'channel=options.channel_id; count=options.count'),
    ],
    'audit 27': [
        ('', 22, 'count=options.count'),
    ],
    'audit 28': [
        ('', 57, 'target=target_id'),
    ],
    'audit 30': [
        ('', 31, 'role_id=target_id; role=change.name; changes'),
    ],
    'audit 31': [
        ('permissions differs', 50, 'role_id=target_id; changes'),
        ('icon_hash differs', 53, 'role_id=target_id; image=role-icons/{target_id}/{icon_hash}'),
        ('unicode_emoji differs', 53, 'role_id=target_id; changes'),
        ('otherwise', 33, 'role_id=target_id; role=change.name; changes'),
    ],
    'audit 32': [
        ('', 32, 'role_id=target_id; role=change.name; changes'),
    ],
    'audit 40': [
        ('', 23, 'name=change.code; channel=change.channel_id; '
        'changes=max_age, max_uses, temporary'),
    ],
    'audit 42': [
        ('', 24, 'name=change.code; channel=change.channel_id; '
        'count=change.uses; changes'),
    ],
    'audit 50': [
        ('change.type is 2', 83, 'name=change.name; channel=change.channel_id'),
        ('otherwise', 79, 'name=change.name; channel=change.channel_id'),
    ],
    'audit 51': [
        ('@target_id.type is 2', 85, 'name=change.name, @target_id.name; '
        'channel=change.channel_id, @target_id.channel_id; changes'),
        ('avatar_hash differs', 82, 'name=change.name, @target_id.name; '
        'channel=@target_id.channel_id; '
        'image=avatars/{target_id}/{avatar_hash}'),
        ('otherwise', 81, 'name=change.name, @target_id.name; '
        'channel=change.channel_id, @target_id.channel_id; changes'),
    ],
    'audit 52': [
        ('change.type is 2', 84, 'name=change.name; channel=change.channel_id'),
        ('otherwise', 80, 'name=change.name; channel=change.channel_id'),
    ],
    'audit 60': [
        ('', 36, 'emoji.id=target_id; emoji.name=change.name'),
    ],
    'audit 61': [
        ('', 38, 'emoji.id=target_id; emoji.name=change.name; changes'),
    ],
    'audit 62': [
        ('', 37, 'emoji.id=target_id; emoji.name=change.name'),
    ],
    'audit 72': [
        ('thread options.channel_id', 4, 'target=target_id; channel=options.channel_id'),
        ('otherwise', 5, 'target=target_id; channel=options.channel_id'),
    ],
    'audit 73': [
        ('', 3, 'channel=target_id; count=options.count'),
    ],
    'audit 74': [
        ('', 34, 'target=target_id; channel=options.channel_id; '
        'messages.id=options.message_id'),
    ],
    'audit 75': [
        ('', 35, 'target=target_id; channel=options.channel_id; '
        'messages.id=options.message_id'),
    ],
    'audit 82': [
        ('@target_id.bot given', 58, 'target=@target_id.bot'),
    ],
    'audit 83': [
        ('', 59, 'channel=options.channel_id; name=change.topic'),
    ],
    'audit 84': [
        ('', 61, 'channel=options.channel_id; name=change.topic; changes'),
    ],
    'audit 85': [
        ('', 60, 'channel=options.channel_id; name=change.topic'),
    ],
    'audit 90': [
        ('', 90, 'name=change.name; changes'),
    ],
    'audit 91': [
        ('', 92, 'name=change.name, @target_id.name; changes'),
    ],
    'audit 92': [
        ('', 91, 'name=change.name; changes'),
    ],
    'gateway AUTO_MODERATION_ACTION_EXECUTION': [
        ('action.type is 1', 101, 'target=user_id; channel=channel_id; name=@rule_id.name; '
        'action=\'blocked the message\'; content=content; '
        'value=matched_keyword'),
        ('action.type is 2', 101, 'target=user_id; channel=channel_id; name=@rule_id.name; '
        'action=\'sent an alert\'; content=content; '
        'value=matched_keyword'),
        ('action.type is 4', 101, 'target=user_id; name=@rule_id.name; action=\'blocked the '
        'member\'; content=content; value=matched_keyword'),
    ],
    'gateway GUILD_MEMBER_ADD': [
        ('otherwise', 1, 'target=user.id; count=guild.member_count'),
    ],
    'gateway GUILD_MEMBER_REMOVE': [
        ('user.bot is true', 58, 'target=user.id'),
        ('otherwise', 2, 'target=user.id; count=guild.member_count; '
        'changes.$remove=was.roles'),
    ],
    'gateway GUILD_MEMBER_UPDATE': [
        ('avatar differs', 26, 'target=user.id; '
        'image=guilds/{guild_id}/users/{user.id}/avatars/{avatar}'),
        ('premium_since comes', 55, 'target=user.id; count=guild.premium_subscription_count'),
        ('premium_since goes', 56, 'target=user.id; count=guild.premium_subscription_count'),
    ],
    'gateway GUILD_UPDATE': [
        ('premium_tier differs', 89, 'value=premium_tier; count=premium_subscription_count'),
    ],
    'gateway MESSAGE_DELETE': [
        ('was.poll given', 86, 'target=was.author.id; channel=channel_id; '
        'content=was.poll.question.text; messages=was'),
        ('thread channel_id', 4, 'target=was.author.id; channel=channel_id; '
        'content=was.content; messages=was'),
        ('otherwise', 5, 'target=was.author.id; channel=channel_id; '
        'content=was.content; messages=was'),
    ],
    'gateway MESSAGE_DELETE_BULK': [
        ('', 3, 'channel=channel_id; count=ids; messages=was'),
    ],
    'gateway MESSAGE_REACTION_REMOVE': [
        ('', 51, 'target=user_id; emoji=emoji; channel=channel_id; '
        'messages.id=message_id'),
    ],
    'gateway MESSAGE_REACTION_REMOVE_ALL': [
        ('', 100, 'channel=channel_id; messages.id=message_id'),
    ],
    'gateway MESSAGE_REACTION_REMOVE_EMOJI': [
        ('', 51, 'emoji=emoji; channel=channel_id; messages.id=message_id'),
    ],
    'gateway MESSAGE_UPDATE': [
        ('content differs and thread channel_id', 6, 'executor=author.id; target=author.id; channel=channel_id; '
        'content=was.content; contentAfter=content; messages=was, now'),
        ('content differs', 7, 'executor=author.id; target=author.id; channel=channel_id; '
        'content=was.content; contentAfter=content; messages=was, now'),
        ('attachments shrinks', 0, 'target=author.id; channel=channel_id; content=content; '
        'messages=was'),
    ],
    'gateway VOICE_STATE_UPDATE': [
        ('channel_id comes', 17, 'executor=user_id; channel=channel_id'),
        ('channel_id goes', 18, 'executor=user_id; channel=was.channel_id'),
        ('channel_id differs', 15, 'executor=user_id; channel=channel_id; name=#was.channel_id'),
        ('self_stream comes', 8, 'executor=user_id; channel=channel_id'),
        ('self_stream goes', 9, 'executor=user_id; channel=was.channel_id'),
        ('self_video comes', 12, 'executor=user_id; channel=channel_id'),
        ('self_video goes', 13, 'executor=user_id; channel=was.channel_id'),
        ('suppress goes and channel_id stays', 62, 'executor=user_id; channel=channel_id'),
        ('suppress comes and channel_id stays', 64, 'executor=user_id; channel=channel_id'),
        ('request_to_speak_timestamp comes and suppress is false', 63, 'target=user_id; channel=channel_id'),
    ],
    # up to here
}
