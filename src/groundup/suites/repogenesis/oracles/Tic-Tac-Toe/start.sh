#!/bin/sh
# Daemonises: what counts is that the port answers.
nohup python main.py > service.log 2>&1 &
