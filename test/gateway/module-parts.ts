import { randomBytes } from 'node:crypto'
import { parseRange } from '#base/addresses.ts'
import { createEgress } from '#base/egress-client.ts'
import { newId } from '#base/ids.ts'
import type { GatewayInfo } from '#registry/gateway-info.ts'
import { Modules } from '#gateway/modules/index.ts'
import { ModuleState } from '#gateway/modules/module-state.ts'
import type { ModuleParts } from '#gateway/modules/module.ts'
import { Records } from '#registry/records/records.ts'
import { createSignIn } from '#auth/sign-in/service.ts'
import { testLog } from '../support/secrets.ts'

const loopback = parseRange('127.0.0.0/8')

/** A way out that reaches this machine. */
export const localEgress = createEgress({ allow: loopback ? [loopback] : [] })

/** Shared by all modules of a test file. */
export const moduleState = new ModuleState()

/** The dependencies of modules, in a gateway without a server. */
export function modulePartsFor(info: GatewayInfo, records = new Records()): ModuleParts {
  const log = testLog()
  const userSessions = {
    signedIn: async () => ({ userId: newId('au'), sessionId: newId('as') }),
    active: () => undefined,
    ended: async () => undefined,
    claimCode: async () => 'first' as const,
  }
  const signIn = createSignIn({
    info,
    key: randomBytes(32),
    records,
    userSessions,
    realmsAt: () => [],
    log,
  })
  const oauth = { applications: new Map(), githubUrl: 'https://github.com', gitlabUrl: 'https://gitlab.com' }
  return { info, records, egress: localEgress, signIn, oauth, state: moduleState, log }
}

export const modulesFor = (info: GatewayInfo, records?: Records): Modules =>
  new Modules(modulePartsFor(info, records))
