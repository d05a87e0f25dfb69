-- Who finds a lane without a webhook has to know whether one may be on its way.

alter table lane add column asked_at timestamptz;   -- for a webhook
