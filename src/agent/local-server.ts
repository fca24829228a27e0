import { dataFolder, runningServer } from '#base/running-server.ts'

const DEFAULT_SERVER = '127.0.0.1:4443'

/** The gateway in the data folder of this machine, or the default address. */
export const localServer = (environment: NodeJS.ProcessEnv): string =>
  runningServer(dataFolder(environment))?.agent_addr ?? DEFAULT_SERVER
