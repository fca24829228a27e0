import type { Call } from '#api/call.ts'
import type { Draft } from '#api/draft.ts'
import { checkRequestHeaders, checkResponseHeaders } from '#api/modules/headers.ts'
import { checkOAuth } from '#api/modules/oauth.ts'
import { checkOidc } from '#api/modules/oidc.ts'
import { completeSaml } from '#api/modules/saml.ts'
import { checkTlsTermination } from '#api/modules/tls-termination.ts'
import { checkUserAgentFilter } from '#api/modules/user-agent-filter.ts'
import { checkWebhookVerification } from '#api/modules/webhook-verification.ts'
import type { ResourceBody } from '#contract/body.ts'
import type { ModuleRule } from '#api/modules/rule.ts'

const rules: Readonly<Record<string, ModuleRule>> = {
  oauth: checkOAuth,
  oidc: checkOidc,
  request_headers: checkRequestHeaders,
  response_headers: checkResponseHeaders,
  saml: completeSaml,
  tls_termination: checkTlsTermination,
  tls_termination_at_edge: checkTlsTermination,
  user_agent_filter: checkUserAgentFilter,
  webhook_verification: checkWebhookVerification,
}

/** Applies the rules of every module in a request. */
export async function checkModules(draft: Draft, call: Call): Promise<void> {
  for (const [name, module] of Object.entries(draft.kind.modules)) {
    if (!draft.sets(name)) continue
    const before = (draft.before?.[name] ?? undefined) as ResourceBody | undefined
    await rules[module.name]?.(draft.body[name] as ResourceBody, { before, call, owner: draft.id })
  }
}
