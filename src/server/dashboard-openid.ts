import type { OpenIdOptions } from '#api/dashboard/openid-provider.ts'
import { OidcMethod } from '#auth/oidc/oidc.ts'
import { createEgress } from '#base/egress-client.ts'
import { Problem } from '#base/errors.ts'
import type { Log } from '#base/log.ts'
import type { Settings } from '#base/settings.ts'
import { StartError } from '#base/start-error.ts'

const GROUPS_CLAIM = 'groups'

/** The operator's OpenID provider; undefined without one. */
export function dashboardOpenId(settings: Settings, log: Log): OpenIdOptions | undefined {
  const { dashboard_openid_issuer: issuer, dashboard_openid_roles: roles } = settings
  const { dashboard_openid_client: client, dashboard_openid_domains: domains } = settings
  if (issuer === undefined) return undefined
  if (client === undefined || domains === undefined)
    throw new StartError(
      'ADIT_DASHBOARD_OPENID_ISSUER also needs ADIT_DASHBOARD_OPENID_CLIENT and ADIT_DASHBOARD_OPENID_DOMAINS',
    )
  try {
    const provider = new OidcMethod({
      issuer,
      clientId: client.id,
      clientSecret: client.secret,
      scopes: [],
      emails: [],
      domains,
      ...(roles && { groupsClaim: GROUPS_CLAIM }),
      egress: createEgress({ allow: settings.egress_allow ?? [] }),
      log,
    })
    return { provider, roles }
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    throw new StartError(`ADIT_DASHBOARD_OPENID_ISSUER cannot be used: ${error.message}`)
  }
}
