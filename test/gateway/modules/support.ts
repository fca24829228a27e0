import { chain } from '#gateway/routing/chain.ts'
import { ClientAbort, type Exchange, type Handler, type Reply } from '#http/exchange.ts'
import { bodyOf, noBody } from '#http/body.ts'
import { Fields } from '#http/fields.ts'
import { RequestContext } from '#http/request-context.ts'
import type { RequestHead } from '#http/head.ts'
import { modulePartsFor, modulesFor } from '../module-parts.ts'
import { info } from '../agents/support.ts'
import { bindOptions, type BindOptions } from '#tunnel/messages.ts'
import { httpClient, requestHead } from '../../support/records.ts'

/** For modules that are built by themselves. */
export const parts = modulePartsFor(info)

/** The modules for an agent's options. */
export const tunnelModules = (agent: BindOptions): readonly Handler[] =>
  modulesFor(info).build({ rows: [], agent }, { id: 'tn_test' }).handlers

/** The options of an agent's bind, as they come from the wire. */
export const optionsOf = (opts: object): BindOptions => bindOptions(opts, '')

export const request = (fields = '', ip = '203.0.113.7'): Exchange => ({
  client: httpClient({ ip }),
  head: requestHead('/a?b', { authority: 'app.test:8080', fields: new Fields(fields) }),
  body: noBody,
  clientAbort: new ClientAbort(),
  context: new RequestContext(),
  sendInformational: () => undefined,
})

interface Outcome {
  readonly reply: Reply
  /** What the service behind was sent; undefined when nothing reached it. */
  readonly sent: RequestHead | undefined
}

/** Sends a request through the modules of a tunnel to a service that answers 200 with these fields. */
export async function sendThrough(opts: object, exchange = request(), answer = ''): Promise<Outcome> {
  let sent: RequestHead | undefined
  const body = bodyOf(Buffer.from('ok'))
  const reply = await chain(tunnelModules(optionsOf(opts)), async ({ head }) => {
    sent = head
    const { framing } = body
    return { head: { status: 200, reason: 'OK', framing, fields: new Fields(answer) }, body }
  })(exchange)
  return { reply, sent }
}
