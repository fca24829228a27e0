import { signInModules } from '#contract/modules/sign-in.ts'
import { isSet, optionsOf, type ModuleSources } from '#gateway/modules/index.ts'

/** Whether a record requires sign-in. */
export const requiresSignIn = (row: ModuleSources['rows'][number]): boolean =>
  signInModules.some(name => optionsOf(row, name) !== undefined)

/**
 * The id of what makes an endpoint require sign-in: the record with the module, or the tunnel whose agent requested it.
 * Undefined without sign-in.
 */
export function signInRealmOf({ rows, agent }: ModuleSources, tunnelId?: string): string | undefined {
  const row = rows.find(requiresSignIn)
  if (row !== undefined) return row.id
  return agent !== undefined && (isSet(agent.OAuth) || isSet(agent.OIDC)) ? tunnelId : undefined
}
