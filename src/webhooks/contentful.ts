import { escape } from 'node:querystring'
import { inHeader } from '#webhooks/hmac.ts'
import type { SignedMessage } from '#webhooks/signatures.ts'
import { only, type Webhook } from '#webhooks/webhook.ts'

const STAMP = 'x-contentful-timestamp'
const NAMES = 'x-contentful-signed-headers'
const MAX_NAMES = 100

/** The method, the path, the fields that the sender names, and the body, each on its own line. */
function messagesOf(webhook: Webhook): readonly SignedMessage[] | undefined {
  const names = only(webhook.fields, NAMES)
    ?.split(',', MAX_NAMES)
    .map(name => name.trim().toLowerCase())
  // Without it the time could be forged.
  if (names === undefined || !names.includes(STAMP)) return undefined
  const lines = names.map(name => lineOf(webhook, name)).filter(line => line !== undefined)
  const fields = Buffer.from(lines.join(';'), 'latin1')
  const paths = new Set([webhook.target, escapedPath(webhook.target)])
  return [...paths].map(path => [`${webhook.method}\n${path}\n`, fields, '\n', webhook.body])
}

function lineOf({ fields, authority }: Webhook, name: string): string | undefined {
  const value = name === 'host' ? authority : only(fields, name)
  return value === undefined ? undefined : `${name}:${value}`
}

/** The sender's own library escapes a query twice. */
function escapedPath(target: string): string {
  const [path = '', query] = target.split('?', 2)
  return encodeURI(query ? `${path}?${escape(query)}` : path)
}

export const contentful = inHeader({
  headers: ['x-contentful-signature'],
  encoding: 'hex',
  stamp: STAMP,
  window: 30,
  messages: messagesOf,
})
