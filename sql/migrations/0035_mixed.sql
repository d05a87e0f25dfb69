-- Of a message that shows no text it is known whose it is only if nothing else
-- was sent by its webhook since the one before.

alter table lane_head
    add column mixed_at timestamptz default now();  -- when anything but what
                                         -- was delivered may last have been
                                         -- sent by its webhook; null: never
