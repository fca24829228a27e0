import type { CatalogEntry } from '#base/catalog/entry.ts'

/** Captured requests and their replays. */
export const captureErrors = {
  capture_target: {
    number: 90410,
    status: 400,
    text: 'A capture needs exactly one of "host", "edge_id" and "route_id".',
  },
  capture_not_owned: {
    number: 90411,
    status: 403,
    text: '"{field}": "{value}" is not yours. Members capture only what they own: ask its owner or an admin.',
  },
  captures_full: {
    number: 90412,
    status: 400,
    text: 'You already have {limit} captures that have not ended. Delete one, or wait until one ends.',
  },
  not_captured: {
    number: 90413,
    status: 404,
    text: 'Request {id} was not captured, or its capture was evicted by newer ones. Turn capture on with POST /captures before the request.',
  },
  captured_for_other: {
    number: 90414,
    status: 403,
    text: 'Request {id} was sent to an endpoint of another owner. Only its owner and admins may see or repeat it.',
  },
  replay_truncated: {
    number: 90415,
    status: 400,
    text: 'The body of request {id} was not captured completely: give "body" to replay it.',
  },
  replay_invalid: {
    number: 90416,
    status: 400,
    text: 'Request {id} cannot be sent with these changes: {reason}.',
  },
  replay_body: {
    number: 90419,
    status: 400,
    text: '"{field}" must be base64, as "body_encoding" requires.',
  },
  replay_upgrade: {
    number: 90417,
    status: 400,
    text: 'Request {id} requested another protocol ({protocol}), such as a WebSocket: only requests with a response can be replayed.',
  },
  replay_target: {
    number: 90421,
    status: 400,
    text: '"{field}": the request cannot be sent to "{value}": {reason}.',
  },
  replay_not_owned: {
    number: 90422,
    status: 403,
    text: 'The request cannot be sent to an endpoint of another owner. Members replay only to their own: ask its owner or an admin.',
  },
  replay_unsigned: {
    number: 90420,
    status: 400,
    text: 'The request cannot be signed again: {reason}. Replay it without "resign", or with "via": "agent".',
  },
  replays_busy: {
    number: 90418,
    status: 429,
    text: 'This server already runs {limit} replays. Try again when one of them has ended.',
  },
} as const satisfies Record<string, CatalogEntry>
