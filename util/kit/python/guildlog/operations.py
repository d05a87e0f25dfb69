"""The operations of conf/openapi.yaml and conf/openapi-operator.yaml."""

from __future__ import annotations

from typing import Any

from .methods import Many, Methods, One


class ApiOperations(Methods):

    # made by util/types: operations
    async def log_types(
            self, *, bot: One = None) -> Any:
        """Tell what the log types are"""
        return await self._call(
            'GET',
            '/log-types',
            bot=bot)

    async def server_get(
            self, *, guild_id: One = None, bot: One = None) -> Any:
        """Read the server"""
        return await self._call(
            'GET',
            '/servers/{guild_id}',
            guild_id=guild_id or self.server, bot=bot)

    async def server_reset(
            self, *, guild_id: One = None, bot: One = None) -> Any:
        """Reset a bot's configuration"""
        return await self._call(
            'DELETE',
            '/servers/{guild_id}',
            guild_id=guild_id or self.server, bot=bot)

    async def me(
            self, *, bot: One = None) -> Any:
        """Tell who signed in"""
        return await self._call(
            'GET',
            '/me',
            bot=bot)

    async def sessions_list(
            self, *, bot: One = None) -> Any:
        """List where the person is signed in"""
        return await self._call(
            'GET',
            '/me/sessions',
            bot=bot)

    async def sessions_remove_all(
            self, *, bot: One = None) -> Any:
        """Sign out everywhere"""
        return await self._call(
            'DELETE',
            '/me/sessions',
            bot=bot)

    async def sessions_remove(
            self, *, session_id: str | int, bot: One = None) -> Any:
        """Sign out one session of the person"""
        return await self._call(
            'DELETE',
            '/me/sessions/{session_id}',
            session_id=session_id, bot=bot)

    async def token_list(
            self, *, guild_id: One = None, bot: One = None) -> Any:
        """List the live tokens of a bot"""
        return await self._call(
            'GET',
            '/servers/{guild_id}/auth',
            guild_id=guild_id or self.server, bot=bot)

    async def token_create(
            self, *, body: Any, guild_id: One = None, bot: One = None) -> Any:
        """Make a token"""
        return await self._call(
            'POST',
            '/servers/{guild_id}/auth',
            body, guild_id=guild_id or self.server, bot=bot)

    async def token_revoke(
            self, *, tokenId: str | int, guild_id: One = None,
            bot: One = None) -> Any:
        """Revoke a token of a bot"""
        return await self._call(
            'DELETE',
            '/servers/{guild_id}/auth',
            guild_id=guild_id or self.server, bot=bot, tokenId=tokenId)

    async def config_get(
            self, *, guild_id: One = None, bot: One = None) -> Any:
        """Read the whole configuration of a bot"""
        return await self._call(
            'GET',
            '/servers/{guild_id}/config',
            guild_id=guild_id or self.server, bot=bot)

    async def config_patch(
            self, *, body: Any, guild_id: One = None, bot: One = None) -> Any:
        """Make several changes, all of them or none"""
        return await self._call(
            'PATCH',
            '/servers/{guild_id}/config',
            body, guild_id=guild_id or self.server, bot=bot)

    async def settings_get(
            self, *, guild_id: One = None, bot: One = None) -> Any:
        """Read the bot's language"""
        return await self._call(
            'GET',
            '/servers/{guild_id}/config/settings',
            guild_id=guild_id or self.server, bot=bot)

    async def settings_patch(
            self, *, body: Any, guild_id: One = None, bot: One = None) -> Any:
        """Set the bot's language"""
        return await self._call(
            'PATCH',
            '/servers/{guild_id}/config/settings',
            body, guild_id=guild_id or self.server, bot=bot)

    async def guilds_get(
            self, *, guild_id: One = None, bot: One = None) -> Any:
        """Read what is known of the server"""
        return await self._call(
            'GET',
            '/servers/{guild_id}/config/guilds',
            guild_id=guild_id or self.server, bot=bot)

    async def access_list(
            self, *, guild_id: One = None, bot: One = None) -> Any:
        """List who may use the dashboard"""
        return await self._call(
            'GET',
            '/servers/{guild_id}/config/access',
            guild_id=guild_id or self.server, bot=bot)

    async def access_get(
            self, *, user_id: str | int, guild_id: One = None,
            bot: One = None) -> Any:
        """Read one user's dashboard access"""
        return await self._call(
            'GET',
            '/servers/{guild_id}/config/access/{user_id}',
            guild_id=guild_id or self.server, user_id=user_id, bot=bot)

    async def access_put(
            self, *, user_id: str | int, body: Any, guild_id: One = None,
            bot: One = None) -> Any:
        """Give a user access to the dashboard"""
        return await self._call(
            'PUT',
            '/servers/{guild_id}/config/access/{user_id}',
            body, guild_id=guild_id or self.server, user_id=user_id, bot=bot)

    async def access_delete(
            self, *, user_id: str | int, guild_id: One = None, bot: One = None,
            revoke: One = None) -> Any:
        """Take a user's dashboard access away"""
        return await self._call(
            'DELETE',
            '/servers/{guild_id}/config/access/{user_id}',
            guild_id=guild_id or self.server, user_id=user_id, bot=bot,
            revoke=revoke)

    async def channels_get(
            self, *, guild_id: One = None, bot: One = None) -> Any:
        """Read where logs are sent"""
        return await self._call(
            'GET',
            '/servers/{guild_id}/config/logging/channels',
            guild_id=guild_id or self.server, bot=bot)

    async def channels_patch(
            self, *, body: Any, guild_id: One = None, bot: One = None) -> Any:
        """Set the main log channel or those of categories"""
        return await self._call(
            'PATCH',
            '/servers/{guild_id}/config/logging/channels',
            body, guild_id=guild_id or self.server, bot=bot)

    async def options_get(
            self, *, guild_id: One = None, bot: One = None) -> Any:
        """Read the server's logging settings"""
        return await self._call(
            'GET',
            '/servers/{guild_id}/config/logging/settings',
            guild_id=guild_id or self.server, bot=bot)

    async def options_patch(
            self, *, body: Any, guild_id: One = None, bot: One = None) -> Any:
        """Change the server's logging settings"""
        return await self._call(
            'PATCH',
            '/servers/{guild_id}/config/logging/settings',
            body, guild_id=guild_id or self.server, bot=bot)

    async def type_get(
            self, *, log_id: str | int, guild_id: One = None,
            bot: One = None) -> Any:
        """Read the settings of one log type"""
        return await self._call(
            'GET',
            '/servers/{guild_id}/config/logging/settings/{log_id}',
            guild_id=guild_id or self.server, log_id=log_id, bot=bot)

    async def type_patch(
            self, *, log_id: str | int, body: Any, guild_id: One = None,
            bot: One = None) -> Any:
        """Change the settings of one log type"""
        return await self._call(
            'PATCH',
            '/servers/{guild_id}/config/logging/settings/{log_id}',
            body, guild_id=guild_id or self.server, log_id=log_id, bot=bot)

    async def types_patch(
            self, *, body: Any, guild_id: One = None, bot: One = None) -> Any:
        """Change the settings of several log types"""
        return await self._call(
            'PATCH',
            '/servers/{guild_id}/config/logging/settings/types',
            body, guild_id=guild_id or self.server, bot=bot)

    async def pacing_get(
            self, *, guild_id: One = None, bot: One = None) -> Any:
        """Read how fast the log channels fill"""
        return await self._call(
            'GET',
            '/servers/{guild_id}/config/logging/pacing',
            guild_id=guild_id or self.server, bot=bot)

    async def ignore_get(
            self, *, ignore_type: str | int, guild_id: One = None,
            bot: One = None) -> Any:
        """Read an ignore list"""
        return await self._call(
            'GET',
            '/servers/{guild_id}/config/logging/ignore/{ignore_type}',
            guild_id=guild_id or self.server, ignore_type=ignore_type, bot=bot)

    async def ignore_add(
            self, *, ignore_type: str | int, body: Any, guild_id: One = None,
            bot: One = None) -> Any:
        """Add to an ignore list"""
        return await self._call(
            'POST',
            '/servers/{guild_id}/config/logging/ignore/{ignore_type}',
            body, guild_id=guild_id or self.server, ignore_type=ignore_type,
            bot=bot)

    async def ignore_remove(
            self, *, ignore_type: str | int, body: Any, guild_id: One = None,
            bot: One = None) -> Any:
        """Take from an ignore list"""
        return await self._call(
            'DELETE',
            '/servers/{guild_id}/config/logging/ignore/{ignore_type}',
            body, guild_id=guild_id or self.server, ignore_type=ignore_type,
            bot=bot)

    async def active_ignore_targets(
            self, *, body: Any, guild_id: One = None, bot: One = None) -> Any:
        """Leave out what is about to happen to something"""
        return await self._call(
            'POST',
            '/servers/{guild_id}/active/ignore/targets',
            body, guild_id=guild_id or self.server, bot=bot)

    async def active_ignore_executors(
            self, *, body: Any, guild_id: One = None, bot: One = None) -> Any:
        """Leave out what somebody is about to do"""
        return await self._call(
            'POST',
            '/servers/{guild_id}/active/ignore/executors',
            body, guild_id=guild_id or self.server, bot=bot)

    async def filters_list(
            self, *, guild_id: One = None, bot: One = None) -> Any:
        """List the filters"""
        return await self._call(
            'GET',
            '/servers/{guild_id}/filters',
            guild_id=guild_id or self.server, bot=bot)

    async def filter_get(
            self, *, filter_id: str | int, guild_id: One = None,
            bot: One = None) -> Any:
        """Read one filter"""
        return await self._call(
            'GET',
            '/servers/{guild_id}/filters/{filter_id}',
            guild_id=guild_id or self.server, filter_id=filter_id, bot=bot)

    async def filter_patch(
            self, *, filter_id: str | int, body: Any, guild_id: One = None,
            bot: One = None) -> Any:
        """Change one filter"""
        return await self._call(
            'PATCH',
            '/servers/{guild_id}/filters/{filter_id}',
            body, guild_id=guild_id or self.server, filter_id=filter_id,
            bot=bot)

    async def alerts_list(
            self, *, guild_id: One = None, bot: One = None) -> Any:
        """List the alerts"""
        return await self._call(
            'GET',
            '/servers/{guild_id}/alerts',
            guild_id=guild_id or self.server, bot=bot)

    async def alert_create(
            self, *, body: Any, guild_id: One = None, bot: One = None) -> Any:
        """Create an alert"""
        return await self._call(
            'POST',
            '/servers/{guild_id}/alerts',
            body, guild_id=guild_id or self.server, bot=bot)

    async def alert_get(
            self, *, alert_id: str | int, guild_id: One = None,
            bot: One = None) -> Any:
        """Read one alert"""
        return await self._call(
            'GET',
            '/servers/{guild_id}/alerts/{alert_id}',
            guild_id=guild_id or self.server, alert_id=alert_id, bot=bot)

    async def alert_patch(
            self, *, alert_id: str | int, body: Any, guild_id: One = None,
            bot: One = None) -> Any:
        """Change one alert"""
        return await self._call(
            'PATCH',
            '/servers/{guild_id}/alerts/{alert_id}',
            body, guild_id=guild_id or self.server, alert_id=alert_id, bot=bot)

    async def alert_delete(
            self, *, alert_id: str | int, guild_id: One = None,
            bot: One = None) -> Any:
        """Delete one alert"""
        return await self._call(
            'DELETE',
            '/servers/{guild_id}/alerts/{alert_id}',
            guild_id=guild_id or self.server, alert_id=alert_id, bot=bot)

    async def tags_get(
            self, *, guild_id: One = None, bot: One = None) -> Any:
        """List the tags"""
        return await self._call(
            'GET',
            '/servers/{guild_id}/config/tags',
            guild_id=guild_id or self.server, bot=bot)

    async def tag_create(
            self, *, body: Any, guild_id: One = None, bot: One = None) -> Any:
        """Create a tag"""
        return await self._call(
            'POST',
            '/servers/{guild_id}/tags',
            body, guild_id=guild_id or self.server, bot=bot)

    async def tag_patch(
            self, *, tag_id: str | int, body: Any, guild_id: One = None,
            bot: One = None) -> Any:
        """Change a tag"""
        return await self._call(
            'PATCH',
            '/servers/{guild_id}/tags/{tag_id}',
            body, guild_id=guild_id or self.server, tag_id=tag_id, bot=bot)

    async def tag_delete(
            self, *, tag_id: str | int, guild_id: One = None,
            bot: One = None) -> Any:
        """Delete a tag"""
        return await self._call(
            'DELETE',
            '/servers/{guild_id}/tags/{tag_id}',
            guild_id=guild_id or self.server, tag_id=tag_id, bot=bot)

    async def notifications_list(
            self, *, guild_id: One = None, bot: One = None) -> Any:
        """List recent changes to the configuration"""
        return await self._call(
            'GET',
            '/servers/{guild_id}/notifications',
            guild_id=guild_id or self.server, bot=bot)

    async def notifications_acknowledge(
            self, *, guild_id: One = None, bot: One = None) -> Any:
        """Acknowledge every notification"""
        return await self._call(
            'POST',
            '/servers/{guild_id}/notifications/acknowledge',
            guild_id=guild_id or self.server, bot=bot)

    async def notification_acknowledge(
            self, *, notification_id: str | int, guild_id: One = None,
            bot: One = None) -> Any:
        """Acknowledge one notification"""
        return await self._call(
            'POST',
            '/servers/{guild_id}/notifications/{notification_id}/acknowledge',
            guild_id=guild_id or self.server, notification_id=notification_id,
            bot=bot)

    async def troubleshoot_get(
            self, *, guild_id: One = None, bot: One = None,
            live: One = None) -> Any:
        """Find out why logs do not arrive"""
        return await self._call(
            'GET',
            '/servers/{guild_id}/troubleshoot',
            guild_id=guild_id or self.server, bot=bot, live=live)

    async def troubleshoot_fix(
            self, *, body: Any, guild_id: One = None, bot: One = None) -> Any:
        """Apply what a finding proposes"""
        return await self._call(
            'POST',
            '/servers/{guild_id}/troubleshoot/fix',
            body, guild_id=guild_id or self.server, bot=bot)

    async def troubleshoot_test(
            self, *, body: Any = None, guild_id: One = None,
            bot: One = None) -> Any:
        """Send a test message"""
        return await self._call(
            'POST',
            '/servers/{guild_id}/troubleshoot/test-log',
            body, guild_id=guild_id or self.server, bot=bot)

    async def preview(
            self, *, body: Any, guild_id: One = None, bot: One = None) -> Any:
        """See the message of an entry"""
        return await self._call(
            'POST',
            '/servers/{guild_id}/preview',
            body, guild_id=guild_id or self.server, bot=bot)

    async def search_members(
            self, *, guild_id: One = None, bot: One = None, query: One = None,
            id: Many = None) -> Any:
        """Find members"""
        return await self._call(
            'GET',
            '/servers/{guild_id}/search/members',
            guild_id=guild_id or self.server, bot=bot, query=query, id=id)

    async def search_channels(
            self, *, guild_id: One = None, bot: One = None,
            query: One = None) -> Any:
        """Find channels"""
        return await self._call(
            'GET',
            '/servers/{guild_id}/search/channels',
            guild_id=guild_id or self.server, bot=bot, query=query)

    async def search_roles(
            self, *, guild_id: One = None, bot: One = None,
            query: One = None) -> Any:
        """Find roles"""
        return await self._call(
            'GET',
            '/servers/{guild_id}/search/roles',
            guild_id=guild_id or self.server, bot=bot, query=query)

    async def logs_page(
            self, *, guild_id: One = None, bot: One = None, search: One = None,
            after: One = None, before: One = None, category: Many = None,
            type: Many = None, channel: One = None, member: One = None,
            memberRole: One = None, role: One = None, limit: One = None,
            cursor: One = None) -> Any:
        """Read the server's logs, newest first"""
        return await self._call(
            'GET',
            '/servers/{guild_id}/logs',
            guild_id=guild_id or self.server, bot=bot, search=search,
            after=after, before=before, category=category, type=type,
            channel=channel, member=member, memberRole=memberRole, role=role,
            limit=limit, cursor=cursor)

    async def logs_export(
            self, *, guild_id: One = None, bot: One = None, search: One = None,
            after: One = None, before: One = None, category: Many = None,
            type: Many = None, channel: One = None, member: One = None,
            memberRole: One = None, role: One = None, locale: One = None,
            format: One = None, bom: One = None, ids: One = None) -> Any:
        """Export the logs as CSV or NDJSON, newest first"""
        return await self._call(
            'GET',
            '/servers/{guild_id}/logs/export',
            guild_id=guild_id or self.server, bot=bot, search=search,
            after=after, before=before, category=category, type=type,
            channel=channel, member=member, memberRole=memberRole, role=role,
            locale=locale, format=format, bom=bom, ids=ids)

    async def logs_histogram(
            self, *, guild_id: One = None, bot: One = None, search: One = None,
            after: One = None, before: One = None, category: Many = None,
            type: Many = None, channel: One = None, member: One = None,
            memberRole: One = None, role: One = None,
            buckets: One = None) -> Any:
        """Count the server's logs by time and category"""
        return await self._call(
            'GET',
            '/servers/{guild_id}/logs/histogram',
            guild_id=guild_id or self.server, bot=bot, search=search,
            after=after, before=before, category=category, type=type,
            channel=channel, member=member, memberRole=memberRole, role=role,
            buckets=buckets)

    async def logs_actors(
            self, *, guild_id: One = None, bot: One = None) -> Any:
        """List who appears as an executor within the plan's window"""
        return await self._call(
            'GET',
            '/servers/{guild_id}/logs/actors',
            guild_id=guild_id or self.server, bot=bot)

    async def logs_one(
            self, *, id: str | int, guild_id: One = None,
            bot: One = None) -> Any:
        """Read one entry"""
        return await self._call(
            'GET',
            '/servers/{guild_id}/logs/{id}',
            guild_id=guild_id or self.server, id=id, bot=bot)

    async def logs_stream(
            self, *, guild_id: One = None, bot: One = None, search: One = None,
            after: One = None, before: One = None, category: Many = None,
            type: Many = None, channel: One = None, member: One = None,
            memberRole: One = None, role: One = None,
            lastEventId: One = None) -> Any:
        """Follow new entries"""
        return await self._call(
            'GET',
            '/servers/{guild_id}/logs/stream',
            guild_id=guild_id or self.server, bot=bot, search=search,
            after=after, before=before, category=category, type=type,
            channel=channel, member=member, memberRole=memberRole, role=role,
            lastEventId=lastEventId)
    # up to here


class OperatorOperations(Methods):

    # made by util/types: operator
    async def server_put(
            self, *, guild_id: str | int, body: Any) -> Any:
        """Create a server, or change it"""
        return await self._call(
            'PUT',
            '/servers/{guild_id}',
            body, guild_id=guild_id)

    async def server_forget(
            self, *, guild_id: str | int) -> Any:
        """Forget a server"""
        return await self._call(
            'DELETE',
            '/servers/{guild_id}',
            guild_id=guild_id)

    async def token_create(
            self, *, guild_id: str | int, body: Any) -> Any:
        """Make a token"""
        return await self._call(
            'POST',
            '/servers/{guild_id}/tokens',
            body, guild_id=guild_id)

    async def record(
            self, *, guild_id: str | int, body: Any, bot: One = None) -> Any:
        """Record entries of one server"""
        return await self._call(
            'POST',
            '/servers/{guild_id}/logs',
            body, guild_id=guild_id, bot=bot)

    async def record_many(
            self, *, body: Any) -> Any:
        """Record entries of many servers"""
        return await self._call(
            'POST',
            '/logs',
            body)

    async def events(
            self, *, body: Any, bot: One = None, sent: One = None) -> Any:
        """Take what the platform's gateway says"""
        return await self._call(
            'POST',
            '/events',
            body, bot=bot, sent=sent)

    async def members_put(
            self, *, guild_id: str | int, body: Any) -> Any:
        """Put members"""
        return await self._call(
            'PUT',
            '/servers/{guild_id}/members',
            body, guild_id=guild_id)

    async def member_put(
            self, *, guild_id: str | int, id: str | int, body: Any) -> Any:
        """Put a member"""
        return await self._call(
            'PUT',
            '/servers/{guild_id}/members/{id}',
            body, guild_id=guild_id, id=id)

    async def member_delete(
            self, *, guild_id: str | int, id: str | int) -> Any:
        """Delete a member"""
        return await self._call(
            'DELETE',
            '/servers/{guild_id}/members/{id}',
            guild_id=guild_id, id=id)

    async def person_logs(
            self, *, guild_id: str | int, id: str | int) -> Any:
        """Export what is stored of a person"""
        return await self._call(
            'GET',
            '/servers/{guild_id}/members/{id}/logs',
            guild_id=guild_id, id=id)

    async def person_forget(
            self, *, guild_id: str | int, id: str | int) -> Any:
        """Forget a person"""
        return await self._call(
            'DELETE',
            '/servers/{guild_id}/members/{id}/logs',
            guild_id=guild_id, id=id)

    async def channels_put(
            self, *, guild_id: str | int, body: Any) -> Any:
        """Put channels"""
        return await self._call(
            'PUT',
            '/servers/{guild_id}/channels',
            body, guild_id=guild_id)

    async def channel_put(
            self, *, guild_id: str | int, id: str | int, body: Any) -> Any:
        """Put a channel"""
        return await self._call(
            'PUT',
            '/servers/{guild_id}/channels/{id}',
            body, guild_id=guild_id, id=id)

    async def channel_delete(
            self, *, guild_id: str | int, id: str | int) -> Any:
        """Delete a channel"""
        return await self._call(
            'DELETE',
            '/servers/{guild_id}/channels/{id}',
            guild_id=guild_id, id=id)

    async def roles_put(
            self, *, guild_id: str | int, body: Any) -> Any:
        """Put roles"""
        return await self._call(
            'PUT',
            '/servers/{guild_id}/roles',
            body, guild_id=guild_id)

    async def role_put(
            self, *, guild_id: str | int, id: str | int, body: Any) -> Any:
        """Put a role"""
        return await self._call(
            'PUT',
            '/servers/{guild_id}/roles/{id}',
            body, guild_id=guild_id, id=id)

    async def role_delete(
            self, *, guild_id: str | int, id: str | int) -> Any:
        """Delete a role"""
        return await self._call(
            'DELETE',
            '/servers/{guild_id}/roles/{id}',
            guild_id=guild_id, id=id)

    async def backlog(
            self, *, reason: Many = None, limit: One = None,
            cursor: One = None) -> Any:
        """List servers with entries that did not arrive"""
        return await self._call(
            'GET',
            '/undelivered',
            reason=reason, limit=limit, cursor=cursor)

    async def undelivered(
            self, *, guild_id: str | int, reason: Many = None,
            channel: One = None, lane: One = None, after: One = None,
            before: One = None, limit: One = None, cursor: One = None) -> Any:
        """List a server's entries that did not arrive"""
        return await self._call(
            'GET',
            '/servers/{guild_id}/undelivered',
            guild_id=guild_id, reason=reason, channel=channel, lane=lane,
            after=after, before=before, limit=limit, cursor=cursor)

    async def replay(
            self, *, guild_id: str | int, body: Any = None) -> Any:
        """Send again what did not arrive"""
        return await self._call(
            'POST',
            '/servers/{guild_id}/replay',
            body, guild_id=guild_id)

    async def lanes(
            self, *, guild_id: str | int) -> Any:
        """List a server's lanes"""
        return await self._call(
            'GET',
            '/servers/{guild_id}/lanes',
            guild_id=guild_id)

    async def lane_pause(
            self, *, guild_id: str | int, id: str | int) -> Any:
        """Stop a lane"""
        return await self._call(
            'POST',
            '/servers/{guild_id}/lanes/{id}/pause',
            guild_id=guild_id, id=id)

    async def lane_resume(
            self, *, guild_id: str | int, id: str | int) -> Any:
        """Go on with a lane"""
        return await self._call(
            'POST',
            '/servers/{guild_id}/lanes/{id}/resume',
            guild_id=guild_id, id=id)

    async def pause(
            self, *, guild_id: str | int) -> Any:
        """Stop all lanes of a server"""
        return await self._call(
            'POST',
            '/servers/{guild_id}/pause',
            guild_id=guild_id)

    async def resume(
            self, *, guild_id: str | int) -> Any:
        """Go on with all lanes of a server"""
        return await self._call(
            'POST',
            '/servers/{guild_id}/resume',
            guild_id=guild_id)
    # up to here
