package faults_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
)

func dumpJobs(t *testing.T, p *place) {
	conn, err := pgx.Connect(t.Context(), p.DSN)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	rows, _ := conn.Query(t.Context(), `SELECT j.args->>'turn_id', j.state::text, j.attempt, coalesce(j.attempted_at::text,''), coalesce(j.attempted_by::text,''), j.created_at::text, now()::text FROM river_job j JOIN turns t ON t.id = j.args->>'turn_id' WHERE t.status='pending'`)
	for rows.Next() {
		v, _ := rows.Values()
		t.Log(v...)
	}
}
