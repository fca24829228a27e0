import type { Trial } from '../trial.ts'
import type { World } from '../world.ts'
import { access } from './access.ts'
import { backends } from './backends.ts'
import { certificates } from './certificates.ts'
import { edgeModules, routeModuleScenarios } from './edge-modules.ts'
import { edges } from './edges.ts'
import { events } from './events.ts'
import { names } from './names.ts'
import { online } from './online.ts'

/** Calls every method of one service of the client and compares the results. */
export type Scenario = (trial: Trial, world: World) => Promise<void>
export type Scenarios = Readonly<Record<string, Scenario>>

/** By the name of the service's class in the client. */
export const scenarios: Scenarios = {
  ...access,
  ...backends,
  ...certificates,
  ...edgeModules,
  ...edges,
  ...events,
  ...names,
  ...online,
  ...routeModuleScenarios,
}
