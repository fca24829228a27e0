/** How the agent is run by the system, whichever that is. */
export interface ServiceSpec {
  /** Program and arguments. */
  readonly command: readonly string[]
  readonly home: string
  /** For this user alone, instead of the machine. */
  readonly isUser: boolean
}

export type ServiceAction = 'start' | 'stop' | 'restart' | 'status'

/** What installing and removing takes: a file, and programs of the system that are told about it. */
export interface ServiceManager {
  /** Undefined where the system keeps it in a place of its own. */
  readonly file: { readonly path: string; readonly text: string } | undefined
  readonly install: readonly (readonly string[])[]
  readonly uninstall: readonly (readonly string[])[]
  readonly run: Readonly<Record<ServiceAction, readonly (readonly string[])[]>>
}

export const SERVICE_NAME = 'adit-agent'
