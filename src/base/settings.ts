import { captureSettings } from '#base/settings/captures.ts'
import { domainSettings } from '#base/settings/domains.ts'
import { listenerSettings } from '#base/settings/listeners.ts'
import { outgoingSettings } from '#base/settings/outgoing.ts'
import { pageSettings } from '#base/settings/pages.ts'
import { serverSettings } from '#base/settings/server.ts'
import { runtimeSettings } from '#base/settings/runtime.ts'
import { usageLimitSettings } from '#base/settings/usage-limits.ts'
import type { Setting } from '#base/settings/setting.ts'

/** The settings by area, in the order of the reference and the help. */
export const settingGroups = {
  Server: serverSettings,
  Listeners: listenerSettings,
  'Usage limits': usageLimitSettings,
  'Domains and certificates': domainSettings,
  Runtime: runtimeSettings,
  Pages: pageSettings,
  Captures: captureSettings,
  'Outgoing connections': outgoingSettings,
}

/** Every setting of the program. */
export const settings = {
  ...settingGroups.Server,
  ...settingGroups.Listeners,
  ...settingGroups['Usage limits'],
  ...settingGroups['Domains and certificates'],
  ...settingGroups.Runtime,
  ...settingGroups.Pages,
  ...settingGroups.Captures,
  ...settingGroups['Outgoing connections'],
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
