import { captureSettings } from '#base/settings/captures.ts'
import { domainSettings } from '#base/settings/domains.ts'
import { listenerSettings } from '#base/settings/listeners.ts'
import { outgoingSettings } from '#base/settings/outgoing.ts'
import { pageSettings } from '#base/settings/pages.ts'
import { serverSettings } from '#base/settings/server.ts'
import { runtimeSettings } from '#base/settings/runtime.ts'
import { usageLimitSettings } from '#base/settings/usage-limits.ts'
import type { Setting } from '#base/settings/setting.ts'

/** Every setting of the program, in the order of the reference. */
export const settings = {
  ...serverSettings,
  ...listenerSettings,
  ...usageLimitSettings,
  ...domainSettings,
  ...runtimeSettings,
  ...pageSettings,
  ...captureSettings,
  ...outgoingSettings,
}

export type SettingName = keyof typeof settings
type ValueOf<Name extends SettingName> = ReturnType<(typeof settings)[Name]['read']>

/** A setting with a default always has a value; `off` is parsed as undefined. */
export type Settings = {
  readonly [Name in SettingName]: (typeof settings)[Name] extends { fallback: string }
    ? ValueOf<Name>
    : ValueOf<Name> | undefined
}

type GatewaySettingName = {
  [Name in SettingName]: (typeof settings)[Name] extends { gateway: true } ? Name : never
}[SettingName]

/** The settings of the gateway. */
export type GatewaySettings = Pick<Settings, GatewaySettingName>

/** Without the others: worker processes do not get the master key. */
export const gatewaySettings = (all: Settings): GatewaySettings => {
  const own = Object.entries<Setting<unknown>>(settings).filter(([, { gateway }]) => gateway === true)
  return Object.fromEntries(
    own.map(([name]) => [name, all[name as SettingName]]),
  ) as unknown as GatewaySettings
}
