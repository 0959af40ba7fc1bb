#!/usr/local/bin/node22
// SPDX-License-Identifier: ISC
// Cursor's agent is not in npm; its SDK is, with the same local runtime.  There is no mock of its back
// end, so this goes as far as the first request and says how that ended.
const { Agent } = await import(process.env.CURSOR_SDK ?? '@cursor/sdk')
setTimeout(() => {
	console.log('SDK: no answer')
	process.exit(0)
}, 20000)
try {
	const agent = await Agent.create({ apiKey: process.env.CURSOR_API_KEY, model: { id: 'composer-2' },
		local: { cwd: process.cwd() } })
	console.log('SDK: agent made')
	const run = await agent.send('do it')
	for await (const event of run.stream()) console.log(`SDK: event ${event.type}`)
} catch (error) {
	console.log(`SDK: ${error.message}`)
}
process.exit(0)
