// SPDX-License-Identifier: ISC
// OpenAI Responses, as Codex speaks it.  It has a shell tool only; a write is its own apply_patch.
'use strict'

function textOf(output) {
	if (typeof output === 'string') return output
	if (Array.isArray(output)) return output.map((part) => part.text || '').join('')
	return output ? JSON.stringify(output) : ''
}

function toolResults(input) {
	if (!Array.isArray(input)) return []
	return input.filter((item) => /_output$/.test(item.type || '')).map((item) => textOf(item.output))
}

function commandOf(step) {
	switch (step.tool) {
	case 'shell':
		return step.command
	case 'write':
		return ["apply_patch <<'EOP'", '*** Begin Patch', `*** Add File: ${step.path}`,
			...step.content.replace(/\n$/, '').split('\n').map((line) => `+${line}`),
			'*** End Patch', 'EOP'].join('\n')
	case 'read':
		return `cat '${step.path}'`
	default:
		throw new Error(`no tool for ${step.tool}`)
	}
}

function itemOf(answer) {
	if (!answer.step)
		return { type: 'message', id: 'msg_mock', role: 'assistant', status: 'completed',
			content: [{ type: 'output_text', text: answer.text, annotations: [] }] }
	const { step, number } = answer
	if (step.tool === 'mcp')
		return { type: 'function_call', id: `fc_mock${number}`, call_id: `call_mock${number}`, status: 'completed',
			namespace: `mcp__${step.server}`, name: step.method, arguments: JSON.stringify(step.input) }
	return { type: 'function_call', id: `fc_mock${number}`, call_id: `call_mock${number}`, status: 'completed',
		name: 'exec_command', arguments: JSON.stringify({ cmd: commandOf(step), yield_time_ms: 30000 }) }
}

function create(body, response, mock) {
	const is_side_call = !(body.tools || []).length
	const item = itemOf(mock.answer('responses', toolResults(body.input), is_side_call))
	const id = `resp_mock${Date.now()}`
	const usage = { input_tokens: 100, input_tokens_details: { cached_tokens: 0 }, output_tokens: 10,
		output_tokens_details: { reasoning_tokens: 0 }, total_tokens: 110 }
	const events = [
		{ type: 'response.created', response: { id, object: 'response', status: 'in_progress', output: [] } },
		{ type: 'response.output_item.added', output_index: 0, item: { ...item, status: 'in_progress' } },
		{ type: 'response.output_item.done', output_index: 0, item },
		{ type: 'response.completed', response: { id, object: 'response', status: 'completed', output: [item], usage } },
	]
	mock.stream(response, events.map((data, sequence_number) => ({ type: data.type, data: { ...data, sequence_number } })))
}

function models(body, response, mock) {
	mock.json(response, 200, { object: 'list', data: [{ id: 'mock-model', object: 'model', owned_by: 'mock' }] })
}

module.exports = { create, models }
