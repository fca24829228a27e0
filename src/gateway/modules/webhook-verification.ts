import { STATUS_CODES } from 'node:http'
import { clientNetwork } from '#base/client-network.ts'
import { fail } from '#base/errors.ts'
import { nearest } from '#base/nearest.ts'
import type { webhookVerification as contract } from '#contract/modules/webhook-verification.ts'
import type { Stored } from '#contract/shape.ts'
import type { Exchange, Handler, Reply } from '#http/exchange.ts'
import { bodyOf } from '#http/body.ts'
import { Fields } from '#http/fields.ts'
import type { ResponseHead } from '#http/head.ts'
import { withHead } from '#http/changed.ts'
import type { HttpModule, ModuleParts } from '#gateway/modules/module.ts'
import { endpointOf, type ModuleContext } from '#http/module-context.ts'
import { readModule } from '#base/read-module.ts'
import { errorReply } from '#http/pages.ts'
import type { MemoryBudget } from '#webhooks/memory-budget.ts'
import { BufferedBody, type BufferingResult } from '#webhooks/buffered-body.ts'
import { HeldBody } from '#webhooks/held-body.ts'
import { secretForms, senders } from '#webhooks/senders.ts'
import {
  type WebhookResponse,
  UnusableSecret,
  type WebhookVerdict,
  type Verify,
  type Webhook,
} from '#webhooks/webhook.ts'
import { type FieldReader, MessageError, object, text } from '#base/json-fields.ts'

const NAME = 'webhook_verification'
const OPTION = 'WebhookVerification'
const MEBIBYTE = 1024 * 1024
const MAX_BODY = 10 * MEBIBYTE
const EMPTY = Buffer.alloc(0)

const goOn: ResponseHead = {
  status: 100,
  reason: 'Continue',
  framing: { kind: 'none' },
  fields: Fields.none,
}

/** Agents that do not use it send it empty. */
const sealed: FieldReader<boolean> = (value, name) => {
  if (value === undefined || value === null || value === '') return false
  if (Array.isArray(value)) return value.length > 0
  if (typeof value !== 'string') throw new MessageError(`${name} must be a string.`)
  return true
}

const options = object({ provider: text(64), secret: text(4096), sealed_secret: sealed })

interface VerifyingTerms {
  readonly endpoint: string
  /** For bodies that are not verified yet. */
  readonly budget: MemoryBudget
  readonly log: ModuleParts['log']
}

/** Allows requests that their sender has signed, unchanged. */
function verifying(verify: Verify, { endpoint, budget, log }: VerifyingTerms): Handler {
  return async (exchange, next) => {
    const { framing, expectsContinue } = exchange.head
    if (framing.kind === 'none' || (framing.kind === 'length' && framing.length === 0)) {
      const current = await resigned(exchange, EMPTY, verify)
      const verdict = await verify(webhookOf(current, EMPTY))
      return verdict.kind === 'verified' ? next(current) : unverified(current, verdict, log)
    }
    if (framing.kind === 'length' && framing.length > MAX_BODY) return unread(exchange, 'too_large')
    // Sent here, because the service gets the request only when the whole body has arrived.
    if (expectsContinue) exchange.sendInformational(goOn)
    const party = { endpoint, client: clientNetwork(exchange.client.ip) }
    const buffered = new BufferedBody(exchange.body, { limit: MAX_BODY, budget, party })
    const judgement = await judged(exchange, buffered, verify)
    if (!('verdict' in judgement)) return judgement
    const { verdict, current } = judgement
    if (verdict.kind !== 'verified') return unverified(current, verdict, log)
    return next(withContent(current, buffered))
  }
}

async function judged(
  exchange: Exchange,
  buffered: BufferedBody,
  verify: Verify,
): Promise<{ verdict: WebhookVerdict; current: Exchange } | Reply> {
  try {
    const end = await buffered.read()
    if (end !== 'whole') return unread(exchange, end)
    const current = await resigned(exchange, buffered.bytes, verify)
    return { verdict: await verify(webhookOf(current, buffered.bytes)), current }
  } finally {
    buffered.release()
  }
}

/** A replay whose owner wants it signed again: the time in its signature is old. Its service gets the new one too. */
async function resigned(exchange: Exchange, body: Buffer, verify: Verify): Promise<Exchange> {
  if (!exchange.context.resigns) return exchange
  const fields = await verify.sign?.(webhookOf(exchange, body))
  if (fields === undefined)
    return fail('replay_unsigned', {
      reason: 'the secret of its route does not suffice to sign for this sender',
    })
  return withHead(exchange, { fields })
}

const webhookOf = ({ head, client }: Exchange, body: Buffer): Webhook => ({
  method: head.method,
  scheme: client.scheme,
  authority: head.authority,
  target: head.target,
  fields: head.fields,
  body,
  now: Date.now(),
})

/** The same request with its body in memory, so that no 100 Continue is needed. */
function withContent(exchange: Exchange, { bytes, trailers }: BufferedBody): Exchange {
  const { fields, framing } = exchange.head
  const copy = withHead(exchange, { fields: fields.without('expect') })
  return { ...copy, body: new HeldBody(bytes, framing, trailers) }
}

function unread({ head }: Exchange, end: Exclude<BufferingResult, 'whole'>): Reply {
  if (end === 'too_large') return errorReply('webhook_too_large', head, { limit: MAX_BODY })
  if (end === 'full') return errorReply('webhooks_full', head)
  if (end === 'slow') return errorReply('webhook_slow', head)
  return errorReply('bad_message', head, { reason: 'its body was truncated' })
}

function unverified(
  { head, context }: Exchange,
  verdict: Exclude<WebhookVerdict, { kind: 'verified' }>,
  log: ModuleParts['log'],
): Reply {
  if (verdict.kind === 'answer') return answerOf(verdict)
  const { reason } = verdict
  context.note(`${NAME}: ${reason}`)
  log.debug({ host: head.host, reason }, 'webhook refused')
  return errorReply('webhook_refused', head)
}

function answerOf({ status, mediaType, content, verified }: WebhookResponse): Reply {
  const body = bodyOf(Buffer.from(content, 'latin1'))
  const fields = new Fields(
    (mediaType === undefined ? '' : `Content-Type: ${mediaType}\r\n`) +
      'Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n',
  )
  const reply: Reply = {
    head: { status, reason: STATUS_CODES[status] ?? '', framing: body.framing, fields },
    body,
  }
  return verified ? reply : { ...reply, refusal: 'webhook_refused' }
}

function unknownSender(provider: string): string {
  const names = Object.keys(senders)
  const meant = nearest(provider, names)
  const hint = meant === undefined ? `use one of ${names.join(', ')}` : `the most similar one is "${meant}"`
  return `"${provider}" is not a supported sender; ${hint}`
}

/** The handler for a sender; `refuse` throws the error if there is none. */
function handlerFor(
  { provider, secret }: { readonly provider: string; readonly secret: string },
  moduleContext: ModuleContext,
  { egress, state, log }: ModuleParts,
  refuse: (reason: string) => never,
): Handler {
  const name = provider.toLowerCase()
  const scheme = Object.hasOwn(senders, name) ? senders[name] : undefined
  if (scheme === undefined) return refuse(unknownSender(provider))
  // Anyone can sign with an empty key.
  if (secret === '' && secretForms[name] !== 'none') return refuse(`a secret is required for ${provider}`)
  try {
    const endpoint = endpointOf(moduleContext)
    return verifying(scheme(secret, { egress }), { endpoint, budget: state.webhookBodies, log })
  } catch (error) {
    if (!(error instanceof UnusableSecret)) throw error
    return refuse(`the secret ${error.reason}`)
  }
}

export const webhookVerificationModule: HttpModule = {
  name: NAME,
  alias: 'webhook_validation',
  fromRecord: (given, moduleContext, parts) =>
    handlerFor(given as Stored<typeof contract.shape>, moduleContext, parts, reason =>
      fail('module_unusable', { module: NAME, reason }),
    ),
  fromAgent: {
    options: [OPTION],
    build({ WebhookVerification }, moduleContext, parts) {
      const refuse = (reason: string): never => fail('bind_option', { option: OPTION, reason })
      const given = readModule(OPTION, options, WebhookVerification ?? {})
      if (given.sealed_secret) refuse('sealed_secret is not supported, use secret')
      return handlerFor(given, moduleContext, parts, refuse)
    },
  },
}
