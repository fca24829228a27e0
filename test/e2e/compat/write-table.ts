import { writeFileSync } from 'node:fs'
import { startServer } from '../../support/server.ts'
import { openClient } from './client.ts'
import { scenarios } from './scenarios/index.ts'
import { documentFile, readDocument, resultsText } from './table.ts'
import { Trial, type Result } from './trial.ts'
import { newWorld } from './world.ts'

/** Runs every scenario and writes what came of it into docs/compatibility.md. */
const results: Result[] = []
{
  await using server = await startServer()
  const client = openClient(server.api.token, server.api.url)
  const world = await newWorld(server)
  for (const [service, scenario] of Object.entries(scenarios)) {
    const trial = new Trial(service, client)
    await scenario(trial, world)
    results.push(...trial.results)
  }
  await world.agent.close()
}
writeFileSync(documentFile, readDocument().byHand + resultsText(results))
