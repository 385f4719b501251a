"""Flink's Table API as far as it is SQL: queries are those of `hr.sql`, and CREATE TABLE names a topic, files or a print.

environment  `StreamTableEnvironment`: names, queries, the way from and to a DataStream
table        what a query gives, and what running it gives
schema       columns, time and watermark of a table that is made of a DataStream
declaring    CREATE TABLE … WITH (…)
spelling     types as Flink's SQL writes them
"""
